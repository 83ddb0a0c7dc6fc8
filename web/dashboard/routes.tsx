/** Which page an address shows. */
import type { ComponentType } from "preact";
import { matchPath, type PageParameters } from "./address/router.ts";
import { Channel } from "./pages/channels/channel.tsx";
import { Channels } from "./pages/channels/channels.tsx";
import { ChannelRules } from "./pages/channels/rules.tsx";
import { Console } from "./pages/console/console.tsx";
import { WhyNot } from "./pages/console/why-not.tsx";
import { Key } from "./pages/keys/key.tsx";
import { Keys } from "./pages/keys/keys.tsx";
import { NewApp } from "./pages/keys/new-app.tsx";
import { Meeting } from "./pages/meetings/meeting.tsx";
import { Meetings } from "./pages/meetings/meetings.tsx";
import { NotFound } from "./pages/not-found.tsx";
import { Overview } from "./pages/overview/overview.tsx";
import { Usage } from "./pages/overview/usage.tsx";
import { Peer } from "./pages/peers/peer.tsx";
import { Peers } from "./pages/peers/peers.tsx";
import { Recording } from "./pages/recordings/recording.tsx";
import { Recordings } from "./pages/recordings/recordings.tsx";
import { EditRoom } from "./pages/rooms/edit-room.tsx";
import { NewRoom } from "./pages/rooms/new-room.tsx";
import { Room } from "./pages/rooms/room.tsx";
import { Rooms } from "./pages/rooms/rooms.tsx";
import { Audit } from "./pages/service/audit.tsx";
import { Backups } from "./pages/service/backups.tsx";
import { Data } from "./pages/service/data.tsx";
import { Nodes } from "./pages/service/nodes.tsx";
import { Operators } from "./pages/service/operators.tsx";
import { Settings } from "./pages/service/settings.tsx";
import { Webhook } from "./pages/webhooks/webhook.tsx";
import { Webhooks } from "./pages/webhooks/webhooks.tsx";

type PageComponent = ComponentType<{ readonly at: PageParameters }>;

const ROUTES: readonly (readonly [pattern: string, page: PageComponent])[] = [
  ["/", Overview],
  ["/console", Console],
  ["/why-not", WhyNot],
  ["/data", Data],
  ["/nodes", Nodes],
  ["/backups", Backups],
  ["/audit", Audit],
  ["/operators", Operators],
  ["/settings", Settings],
  ["/new-application", NewApp],
  ["/apps/:app", Overview],
  ["/apps/:app/channels", Channels],
  ["/apps/:app/channels/:channel", Channel],
  ["/apps/:app/peers", Peers],
  ["/apps/:app/peers/:peer", Peer],
  ["/apps/:app/console", Console],
  ["/apps/:app/keys", Keys],
  ["/apps/:app/keys/:key", Key],
  ["/apps/:app/rules", ChannelRules],
  ["/apps/:app/rooms", Rooms],
  ["/apps/:app/rooms/~new", NewRoom],
  ["/apps/:app/rooms/:room", Room],
  ["/apps/:app/rooms/:room/edit", EditRoom],
  ["/apps/:app/meetings", Meetings],
  ["/apps/:app/meetings/:meeting", Meeting],
  ["/apps/:app/recordings", Recordings],
  ["/apps/:app/recordings/:recording", Recording],
  ["/apps/:app/webhooks", Webhooks],
  ["/apps/:app/webhooks/:webhook", Webhook],
  ["/apps/:app/usage", Usage],
  ["/apps/:app/data", Data],
  ["/apps/:app/why-not", WhyNot],
];

export function pageOf(path: string) {
  for (const [pattern, Component] of ROUTES) {
    const at = matchPath(pattern === "/" ? "" : pattern, path === "/" ? "" : path);
    if (at) return <Component at={at} />;
  }
  return <NotFound />;
}
