/** Which page an address shows. Pages come in a few scripts, of which the first paint needs one. */
import type { ComponentType } from "preact";
import { matchPath, type PageParameters } from "./address/router.ts";
import { NotFound } from "./pages/not-found.tsx";
import { Later, type Script, script } from "./scripts/later.tsx";

type PageComponent = ComponentType<{ readonly at: PageParameters }>;
type Find = () => PageComponent | undefined;
type Route = readonly [pattern: string, script: Script, find: Find];

const overview = script(() => import("./scripts/overview.ts"));
const live = script(() => import("./scripts/live.ts"));
const application = script(() => import("./scripts/application.ts"));
const meetings = script(() => import("./scripts/meetings.ts"));
const playback = script(() => import("./scripts/playback.ts"));
const service = script(() => import("./scripts/service.ts"));

const ROUTES: readonly Route[] = [
  ["/", overview, () => overview.pages()?.Overview],
  ["/console", live, () => live.pages()?.Console],
  ["/refusals", live, () => live.pages()?.Refusals],
  ["/why-not", live, () => live.pages()?.WhyNot],
  ["/data", service, () => service.pages()?.Data],
  ["/nodes", service, () => service.pages()?.Nodes],
  ["/backups", service, () => service.pages()?.Backups],
  ["/audit", service, () => service.pages()?.Audit],
  ["/operators", service, () => service.pages()?.Operators],
  ["/settings", service, () => service.pages()?.Settings],
  ["/new-application", application, () => application.pages()?.NewApp],
  ["/apps/:app", overview, () => overview.pages()?.Overview],
  ["/apps/:app/channels", live, () => live.pages()?.Channels],
  ["/apps/:app/channels/:channel", live, () => live.pages()?.Channel],
  ["/apps/:app/peers", live, () => live.pages()?.Peers],
  ["/apps/:app/peers/:peer", live, () => live.pages()?.Peer],
  ["/apps/:app/console", live, () => live.pages()?.Console],
  ["/apps/:app/refusals", live, () => live.pages()?.Refusals],
  ["/apps/:app/keys", application, () => application.pages()?.Keys],
  ["/apps/:app/keys/:key", application, () => application.pages()?.Key],
  ["/apps/:app/rules", live, () => live.pages()?.ChannelRules],
  ["/apps/:app/streams", live, () => live.pages()?.Streams],
  ["/apps/:app/streams/:stream", live, () => live.pages()?.Stream],
  ["/apps/:app/rooms", meetings, () => meetings.pages()?.Rooms],
  ["/apps/:app/rooms/~new", meetings, () => meetings.pages()?.NewRoom],
  ["/apps/:app/rooms/:room", meetings, () => meetings.pages()?.Room],
  ["/apps/:app/rooms/:room/edit", meetings, () => meetings.pages()?.EditRoom],
  ["/apps/:app/meetings", meetings, () => meetings.pages()?.Meetings],
  ["/apps/:app/meetings/:meeting", meetings, () => meetings.pages()?.Meeting],
  ["/apps/:app/meetings/:meeting/playback", playback, () => playback.pages()?.Playback],
  ["/apps/:app/recordings", meetings, () => meetings.pages()?.Recordings],
  ["/apps/:app/recordings/:recording", meetings, () => meetings.pages()?.Recording],
  ["/apps/:app/webhooks", application, () => application.pages()?.Webhooks],
  ["/apps/:app/webhooks/:webhook", application, () => application.pages()?.Webhook],
  ["/apps/:app/usage", overview, () => overview.pages()?.Usage],
  ["/apps/:app/data", service, () => service.pages()?.Data],
  ["/apps/:app/why-not", live, () => live.pages()?.WhyNot],
];

function routeOf(path: string): { readonly route: Route; readonly at: PageParameters } | undefined {
  for (const route of ROUTES) {
    const [pattern] = route;
    const at = matchPath(pattern === "/" ? "" : pattern, path === "/" ? "" : path);
    if (at) return { route, at };
  }
  return undefined;
}

export function pageOf(path: string) {
  const found = routeOf(path);
  if (!found) return <NotFound />;
  const {
    route: [, script, find],
    at,
  } = found;
  return <Later script={script} find={find} at={at} />;
}

/** The other pages then open at once, also while the network is away. */
export function loadAhead(): void {
  for (const one of [overview, live, application, meetings, service]) one.loadAhead();
}

/** Begins to load what the page needs, such as while the service is asked who is signed in. */
export function preload(path: string): void {
  void routeOf(path)?.route[1].load();
}
