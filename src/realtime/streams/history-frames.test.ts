import { expect, test } from "bun:test";
import { SECRET_KEY } from "../testing/kit.ts";
import { ROOM, StreamsWorld, seen } from "./testing/streams-world.ts";

test("pages of one connection come one at a time, in the order asked for", async () => {
  const world = new StreamsWorld();
  const ann = await world.joined("ann");
  await world.publish(ann, 1, 3);
  ann.take();
  world.history.pause("read");
  for (const limit of [1, 2, 3]) ann.request({ type: "history", channel: ROOM, limit });
  await world.answers();
  expect(await world.history.pausedCalls(1)).toHaveLength(1);
  world.history.releaseAll();
  await world.answers();
  expect(ann.take().map(({ type, messages }) => [type, (messages as unknown[]).length])).toEqual([
    ["history", 1],
    ["history", 2],
    ["history", 3],
  ]);
});

test("the rate is 5 per second with a burst of 10", async () => {
  const world = new StreamsWorld();
  const ann = await world.joined("ann");
  const ask = async (count: number): Promise<string[]> => {
    for (let i = 0; i < count; i++) ann.request({ type: "history", channel: ROOM });
    await world.answers();
    return seen(ann).map((one) => one.replace("error rate_limited", "refused"));
  };
  expect((await ask(12)).sort()).toEqual([...Array<string>(10).fill("history"), "refused", "refused"]);
  await world.pass(1000);
  expect((await ask(6)).sort()).toEqual([...Array<string>(5).fill("history"), "refused"]);
});

test("a page waits until the client has read enough of what was sent before", async () => {
  const world = new StreamsWorld({ maxPendingBytes: 100_000 });
  const [ann, ben] = [await world.joined("ann"), await world.joined("ben")];
  for (let i = 0; i < 3; i++) ann.publish(ROOM, "x".repeat(30_000));
  await world.answers();
  ben.take();
  ben.socket.stalled = true;
  ben.socket.send(JSON.stringify({ type: "direct", data: "x".repeat(50_000) }));
  ben.request({ type: "history", channel: ROOM });
  await world.pass(500);
  expect(ben.received.at(-1)?.type).toBe("direct");
  ben.socket.read();
  await world.pass(60);
  expect(ben.received.at(-1)?.type).toBe("history");
});

test("a key that is narrowed while the store is read gets nothing", async () => {
  const world = new StreamsWorld();
  const ann = world.connect("ann");
  world.history.pause("read");
  ann.request({ type: "history", channel: ROOM });
  await world.answers();
  world.keys.editKey(SECRET_KEY, { channelPatterns: ["other/*"] });
  world.history.releaseAll();
  await world.answers();
  expect(seen(ann)).toEqual(["error channel_not_authorized"]);
});

test("the store is unavailable: backend_error, and the next page comes", async () => {
  const world = new StreamsWorld();
  const ann = world.connect("ann");
  world.history.fate = () => "fail";
  ann.request({ type: "history", channel: ROOM });
  await world.answers();
  world.history.fate = () => "answer";
  ann.request({ type: "history", channel: ROOM });
  await world.answers();
  expect(seen(ann)).toEqual(["error backend_error", "history"]);
});
