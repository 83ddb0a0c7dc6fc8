import { expect, test } from "bun:test";
import type { WebhookFact } from "../../store/contract/webhooks.ts";
import { keyCreated, occupied, settled, World } from "../testing/world.ts";

const started = (room: string) => ({
  type: "meeting.started" as const,
  meeting: {
    id: "m1",
    app: "a" as never,
    room,
    roomName: "standup",
    began: 1000,
    ended: null,
    isLocked: false,
    recording: null,
    recordingStopped: null,
  },
});

const waitingOf = async (world: World): Promise<string[]> =>
  (await world.store.webhooks.waiting()).map(({ webhook }) => webhook).toSorted();

test("an event goes to those who ask for it, and are not disabled", async () => {
  await using world = await World.open("all");
  await world.add("keys", { events: ["key.*"] });
  await world.add("rooms", { events: ["room.created"] });
  await world.add("off", { disabled: 1, disabledWhy: "request" });
  await world.happen(keyCreated("k1"));
  expect(await waitingOf(world)).toEqual(["all", "keys"]);
});

test("an event of a channel goes to those whose patterns match it", async () => {
  await using world = await World.open("all", "none");
  const { recipient } = world;
  world.recipient = (id) => {
    const one = recipient(id);
    return one && (id === "none" ? { ...one, channels: null } : one);
  };
  await world.happen(occupied("lobby"));
  expect(await waitingOf(world)).toEqual(["all"]);
});

test("a URL of a room gets its one event, as the room is now", async () => {
  const url = "https://example.org/of-the-room";
  await using world = await World.open("all");
  await world.add(url, { kind: "room", url, events: ["*"] });
  await world.store.rooms.addRoom({
    id: "r1",
    app: "a" as never,
    name: "standup",
    fields: { meetingStartedWebhook: url },
    created: 1,
    archiveAt: null,
    version: 1,
  });
  await world.happen(keyCreated("k1"), started("r1"), started("other"));
  await settled(world.dispatcher());
  // With room.created.
  expect(world.seqsOf("all")).toHaveLength(4);
  const ofRoom = world.seen.filter(({ webhook }) => webhook === url);
  expect(ofRoom.map(({ request }) => JSON.parse(request.body))).toMatchObject([
    { type: "meeting.started", data: { room: "r1", roomName: "standup", meetingSession: "m1", seq: 1 } },
  ]);
  // Never what is inside the network: it was not made by an operator.
  expect(ofRoom[0]?.request.isTrusted).toBe(false);
});

test("a URL of a room gets the end of a meeting that ends because its room is archived", async () => {
  const url = "https://example.org/of-the-room";
  await using world = await World.open();
  await world.add(url, { kind: "room", url, events: [] });
  const room = { id: "r1", app: "a" as never, name: "standup", created: 1, archiveAt: null, version: 1 };
  await world.store.rooms.addRoom({ ...room, fields: { meetingEndedWebhook: url } });
  await world.store.rooms.archiveRoom(room.app, room.name, 5);
  await world.happen({ type: "meeting.ended", meeting: { ...started("r1").meeting, ended: 4 } });
  expect(await waitingOf(world)).toEqual([url]);
});

test("an event that cannot be written is dropped and said, and keeps no other from its way", async () => {
  await using world = await World.open("w1");
  const odd: WebhookFact = { type: "quota.reached", kind: "messages", limit: 1, period: Number.MAX_SAFE_INTEGER };
  await world.happen(odd, keyCreated("k1"));
  expect(world.lines).toEqual([expect.stringContaining("cannot be written")]);
  await settled(world.dispatcher());
  expect(world.seen).toHaveLength(1);
});

test("of large events few are read at once", async () => {
  await using world = await World.open("w1", "w2");
  const room = { id: "r1", app: "a" as never, name: "n", fields: { topic: "x".repeat(15_000) }, created: 1 };
  const fact: WebhookFact = { type: "room.updated", room: { ...room, archiveAt: null, version: 1 } };
  const event = { app: room.app, subject: "s", happened: 1, fact, webhook: null };
  await world.store.webhooks.addEvents(Array.from({ length: 60 }, () => event));
  const { store } = world;
  const enter = store.webhooks.enter.bind(store.webhooks);
  const bytes: number[] = [];
  store.webhooks.enter = (lease, messages, done, bounds) => {
    bytes.push(messages.reduce((sum, { data }) => sum + data.length, 0));
    return enter(lease, messages, done, bounds);
  };
  while ((await world.fanOut().run(world.lease)) === "more");
  expect(await world.state("w2")).toMatchObject({ backlog: 60, lastSeq: 60 });
  expect(Math.max(...bytes)).toBeLessThan(200_000);
});

test("while an endpoint is away, what waits is bounded: the oldest events that may be dropped go, and are counted", async () => {
  await using world = await World.open("w1");
  const { store } = world;
  const enter = store.webhooks.enter.bind(store.webhooks);
  store.webhooks.enter = (lease, messages, done) => enter(lease, messages, done, { backlogMax: 20 });
  await world.happen(keyCreated("kept"));
  for (let at = 0; at < 50; at++) await world.happen(occupied(`c${at}`));
  const { backlog, dropped, lastSeq } = await world.state("w1");
  expect({ backlog, dropped, lastSeq }).toEqual({ backlog: 20, dropped: 31, lastSeq: 51 });
  expect(world.metrics.dropped.value).toBe(31);
  expect(world.lines.at(-1)).toContain("were dropped");
  await settled(world.dispatcher());
  const got = world.seqsOf("w1");
  expect(got.toSorted((a, b) => a - b)).toEqual([1, ...Array.from({ length: 19 }, (_, at) => 33 + at)]);
});
