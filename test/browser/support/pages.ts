/** Every page of the dashboard, with how to see that it is complete. */
import type { Page } from "playwright-core";
import { Room } from "../../conformance/raw/support/rooms.ts";
import type { Server } from "../../support/parley.ts";
import { StreamCalls } from "../../support/stream-calls.ts";
import { found } from "../../support/wait.ts";
import { attempt } from "../../support/wire/connect.ts";
import { longAudio } from "./playing.ts";
import type { Shop } from "./seeds.ts";

export interface PageOf {
  readonly name: string;
  /** Below /dashboard. */
  readonly path: string;
  /** Visible once all data is there. */
  readonly ready: string;
  /** It has a player, whose controls are the browser's: they move when the length is known, and have no name in reports. */
  readonly hasPlayer?: true;
  /** Part of an address that is called again and again while the page is open. */
  readonly polls?: string;
}

/** What is only known once there is something. */
export interface Filled {
  /** Id of the meeting that goes on in `standup`. */
  readonly meeting: string;
  /** Id of a recording of it. */
  readonly recording: string;
  /** Id of a webhook that has failed. */
  readonly webhook: string;
}

const STREAMS = { pattern: "answers/**", stream: { seconds: 604_800, bytes: 1_048_576 } };
const LONG_NAME = "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh the Younger";

/** Something on every page: a peer with metadata, a room with a recording and a meeting, a refusal, an operator. */
export async function fill(server: Server, { world, name, backend, publishable }: Shop): Promise<Filled> {
  const room = await backend.room("standup");
  // Not called, as it is not public: the attempt is in the log.
  await server.admin.must("PUT", `/apps/${name}/rooms/standup`, { meetingStartedWebhook: "http://10.0.0.1/started" });
  const standup = new Room(backend.app, "standup", room);
  const token = await standup.accessToken({ name: LONG_NAME.slice(0, 64), externalUserId: "user-1", isAdmin: true });
  const { join } = await standup.inside({ token });
  await standup.inside({ name: "Bob" });
  const left = await standup.inside({ name: "Carol" });
  left.wire.close();
  await server.admin.must("POST", "/operators", { name: "Carol", role: "read" });
  const rule = { pattern: "chat/*", history: { messages: 100, seconds: 604_800 }, graceSec: 30 };
  await server.admin.must("PATCH", `/apps/${world.app._id}`, {
    channelRules: [rule, { pattern: "orders/**" }, STREAMS],
  });
  const streams = new StreamCalls(server, `${world.key.keyId}:${world.key.secret}`);
  await streams.create("answers/1", { body: '[{"text":"hello"}]' });
  const producer = { "Producer-Id": "worker-1", "Producer-Epoch": "0", "Producer-Seq": "0" };
  await streams.append("answers/1", { body: '{"text":"more"}', headers: producer });
  const { wire } = await world.member("chat/42", { sub: "alice", peerMetadata: { name: "Alice" } });
  await world.member("orders/eu", { sub: "bob" });
  wire.send({ type: "publish", channel: "chat/42", data: { text: "hello" } });
  wire.send({ type: "state", channel: "chat/42", state: { typing: true } });
  await attempt(server.url, { query: `key=${publishable.keyId}`, headers: { Origin: "https://elsewhere.example" } });
  await server.admin.rotate(world.key.keyId, { graceSec: 3600 });
  const session = { room, meetingSession: join.meetingSession };
  await backend.record({ ...session, participantUsername: "Bob", type: "screen" });
  const spoken = { ...session, participantUsername: LONG_NAME.slice(0, 64), type: "audio" };
  const { _id, uploadUrl } = await backend.begin(spoken);
  const intervals = [[200, 1400]];
  await backend.put(uploadUrl.replace("?", "/speech?"), { intervals }, { "Content-Type": "application/json" });
  await backend.mustPut(uploadUrl, longAudio(2));
  await backend.complete(_id, {});
  return { meeting: join.meetingSession, recording: _id, webhook: await failedWebhook(server, name) };
}

/** The URL of the room, after its first attempt, disabled: another attempt would move what is below. And one that was never called. */
async function failedWebhook(server: Server, app: string): Promise<string> {
  const path = `/apps/${app}/webhooks`;
  const { _id } = await found("a failed webhook", async () => {
    const { data } = await server.admin.must<{ data: { _id: string; health: { state: string } }[] }>("GET", path);
    return data.find(({ health }) => health.state === "failing");
  });
  await server.admin.must("PATCH", `${path}/${_id}`, { disabled: true });
  const wanted = { url: `https://hooks.example.com/${"long/".repeat(30)}`, events: ["*"], channelPatterns: ["chat/*"] };
  await server.admin.must("POST", path, { ...wanted, description: LONG_NAME });
  return _id;
}

export function pagesOf(
  { name, world }: Pick<Shop, "name" | "world">,
  { meeting, recording, webhook }: Filled,
): readonly PageOf[] {
  const app = `/apps/${name}`;
  return [
    { name: "overview of the service", path: "", ready: "Refused connects", polls: "/series" },
    { name: "overview", path: app, ready: "Busiest channels", polls: "/channels?sort" },
    { name: "channels", path: `${app}/channels`, ready: "chat/42", polls: "/channels" },
    { name: "a channel", path: `${app}/channels/chat%2F42`, ready: "1 member.", polls: "/channels/" },
    { name: "history", path: `${app}/channels/chat%2F42?view=history`, ready: "alice", polls: "/history" },
    { name: "peers", path: `${app}/peers`, ready: "alice", polls: "/peers" },
    { name: "a peer", path: `${app}/peers/alice`, ready: "Last events", polls: "/peers/" },
    { name: "a peer that is not there", path: `${app}/peers/zoe`, ready: "Find similar ids" },
    { name: "refusals", path: `${app}/refusals`, ready: "origin_not_allowed", polls: "/refusals" },
    { name: "refusals of the service", path: "/refusals", ready: "origin_not_allowed", polls: "/refusals" },
    { name: "console", path: `${app}/console`, ready: "Pause" },
    { name: "console of the service", path: "/console", ready: "Pause" },
    { name: "keys", path: `${app}/keys`, ready: "Delete the application" },
    { name: "a key", path: `${app}/keys/${world.key.keyId}`, ready: "Use it", polls: "/keys/" },
    { name: "a new key", path: `${app}/keys?create=1`, ready: "Allowed origins, one per line" },
    { name: "a new application", path: "/new-application", ready: "Create application" },
    { name: "channel rules", path: `${app}/rules?channel=chat%2F42`, ready: "cover it", polls: "/usage" },
    { name: "a new rule", path: `${app}/rules?add=1`, ready: "Grace in seconds" },
    { name: "streams", path: `${app}/streams`, ready: "answers/1", polls: "/streams" },
    { name: "a stream", path: `${app}/streams/answers%2F1`, ready: "worker-1", polls: "/streams/" },
    { name: "rooms", path: `${app}/rooms`, ready: "standup", polls: "/meetings" },
    { name: "a room", path: `${app}/rooms/standup`, ready: "Bob", polls: "/meetings/" },
    { name: "a new room", path: `${app}/rooms/~new`, ready: "Create room" },
    { name: "the settings of a room", path: `${app}/rooms/standup/edit`, ready: "A meeting starts", polls: "/rooms/" },
    { name: "meetings", path: `${app}/meetings`, ready: "2 inside", polls: "/meetings" },
    { name: "a meeting", path: `${app}/meetings/${meeting}`, ready: "Carol", polls: "/meetings/" },
    { name: "recordings", path: `${app}/recordings`, ready: "Retention" },
    {
      name: "a recording",
      path: `${app}/recordings/${recording}`,
      ready: "Other recordings of this meeting",
      hasPlayer: true,
    },
    { name: "usage", path: `${app}/usage`, ready: "This and past periods", polls: "/usage" },
    { name: "data", path: `${app}/data`, ready: "What is kept", polls: "/data" },
    { name: "data of the service", path: "/data", ready: "What is kept", polls: "/data" },
    { name: "why not", path: `${app}/why-not`, ready: "Common mistakes" },
    { name: "nodes", path: "/nodes", ready: "1 node", polls: "/nodes" },
    { name: "backups", path: "/backups", ready: "No backups are set up", polls: "/backups" },
    { name: "audit", path: "/audit", ready: "signed in" },
    { name: "operators", path: "/operators", ready: "Carol" },
    { name: "settings", path: "/settings", ready: "PARLEY_ADMIN_TOKEN" },
    { name: "an address without a page", path: "/nowhere", ready: "Go to the overview" },
    { name: "an unknown application", path: "/apps/nowhere", ready: "Go to the overview" },
    { name: "webhooks", path: `${app}/webhooks`, ready: "Younger", polls: "/webhooks" },
    { name: "a webhook", path: `${app}/webhooks/${webhook}`, ready: "no response", polls: "/deliveries" },
    { name: "a new webhook", path: `${app}/webhooks?create=1`, ready: "Keys and quotas" },
    { name: "playback", path: `${app}/meetings/${meeting}/playback`, ready: "spoke 1 s", hasPlayer: true },
    { name: "an unknown room", path: `${app}/rooms/nowhere`, ready: "It was renamed" },
  ];
}

/** Resolves when the page is complete, and has refreshed itself once if it does so. */
export async function settled(page: Page, { ready, polls }: PageOf): Promise<void> {
  await page.locator("main").getByText(ready).first().waitFor();
  if (polls !== undefined) await page.waitForResponse((response) => response.url().includes(polls));
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
}
