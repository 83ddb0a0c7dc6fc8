/** Which page an address shows. */
import type { ComponentType } from "preact";
import { matchPath } from "./lib/router.ts";
import { Audit } from "./pages/audit.tsx";
import { Channel } from "./pages/channel.tsx";
import { ChannelRules } from "./pages/channel-rules.tsx";
import { Channels } from "./pages/channels.tsx";
import { Console } from "./pages/console.tsx";
import { Key } from "./pages/key.tsx";
import { Keys } from "./pages/keys.tsx";
import { Meeting } from "./pages/meeting.tsx";
import { Meetings } from "./pages/meetings.tsx";
import { NewApp } from "./pages/new-app.tsx";
import { Nodes } from "./pages/nodes.tsx";
import { NotFound } from "./pages/not-found.tsx";
import { Operators } from "./pages/operators.tsx";
import { Overview } from "./pages/overview.tsx";
import { Peer } from "./pages/peer.tsx";
import { Peers } from "./pages/peers.tsx";
import { Recording } from "./pages/recording.tsx";
import { Recordings } from "./pages/recordings.tsx";
import { Room } from "./pages/room.tsx";
import { Rooms } from "./pages/rooms.tsx";
import { Settings } from "./pages/settings.tsx";
import { Usage } from "./pages/usage.tsx";
import { WhyNot } from "./pages/why-not.tsx";

/** Parameters of the address, decoded: `app` is the application's name. */
export type PageParameters = Readonly<Record<string, string>>;
type PageComponent = ComponentType<{ readonly at: PageParameters }>;

const ROUTES: readonly (readonly [pattern: string, page: PageComponent])[] = [
  ["/", Overview],
  ["/console", Console],
  ["/why-not", WhyNot],
  ["/nodes", Nodes],
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
  ["/apps/:app/rooms/:room", Room],
  ["/apps/:app/meetings", Meetings],
  ["/apps/:app/meetings/:meeting", Meeting],
  ["/apps/:app/recordings", Recordings],
  ["/apps/:app/recordings/:recording", Recording],
  ["/apps/:app/usage", Usage],
  ["/apps/:app/why-not", WhyNot],
];

export function pageOf(path: string) {
  for (const [pattern, Component] of ROUTES) {
    const at = matchPath(pattern === "/" ? "" : pattern, path === "/" ? "" : path);
    if (at) return <Component at={at} />;
  }
  return <NotFound />;
}
