import { expect, test } from "bun:test";
import { delayed } from "../../engine/testing/traffic.ts";
import { type Client, PUBLISHABLE_KEY, SECRET_KEY, turn, World } from "../testing/kit.ts";
import { LateAnswers } from "../testing/late-engine.ts";

const states = (client: Client): unknown[] =>
  client
    .take()
    .filter(({ type }) => type === "state")
    .map(({ changed }) => changed);

const setState = (client: Client, state: unknown, channel = "c"): string =>
  client.request({ type: "state", channel, state });

function joinWithStates(world: World, peerId: string, node = 0): Client {
  const client = world.connect(peerId, { node });
  client.subscribe("c", { state: true });
  world.advance(600);
  client.take();
  return client;
}

test("a state reaches the subscriptions that asked for states, and no other", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = joinWithStates(world, "ben");
  const cat = world.join("cat", "c");
  for (const client of [ann, ben, cat]) client.take();
  setState(ann, { muted: true });
  expect(ann.newFrames()).toEqual(["ack r2"]);
  world.advance(10);
  expect(states(ben)).toEqual([[{ peerId: "ann", state: { muted: true } }]]);
  expect(cat.take()).toEqual([]);
  expect(ann.take()).toEqual([]);
});

test("only the newest state of a tick is sent, in one frame for all members, as it was written", () => {
  const world = new World();
  const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
  const ben = joinWithStates(world, "ben");
  setState(ann, { n: 1 });
  ann.text('{"type":"state","channel":"c","state":{"n": 12345678901234567890}}');
  setState(cat, { n: 3 });
  world.advance(10);
  expect(ben.socket.written.at(-1)).toBe(
    '{"type":"state","channel":"c","changed":[{"peerId":"ann","state":{"n": 12345678901234567890}},{"peerId":"cat","state":{"n":3}}]}',
  );
  ben.take();
  setState(cat, { n: 3 });
  world.advance(50);
  expect(ben.take()).toEqual([]);
  setState(cat, null);
  world.advance(10);
  expect(states(ben)).toEqual([[{ peerId: "cat", state: null }]]);
});

test("rosters carry states for those that asked, and are as ever for the others", () => {
  const world = new World();
  const ann = world.join("ann", "c", { metadata: { n: 1 } });
  world.join("cat", "c");
  setState(ann, { hand: "up" });
  world.advance(10);
  const ben = world.connect("ben");
  ben.subscribe("c", { state: true });
  const dan = world.connect("dan");
  dan.subscribe("c");
  world.advance(600);
  expect(ben.take().find(({ snapshot }) => snapshot)?.joined).toEqual([
    { peerId: "ann", metadata: { n: 1 }, state: { hand: "up" } },
    { peerId: "cat", state: null },
    { peerId: "dan", state: null },
  ] as never);
  expect(dan.take().find(({ snapshot }) => snapshot)?.joined).toEqual([
    { peerId: "ann", metadata: { n: 1 } },
    { peerId: "cat" },
    { peerId: "ben" },
  ]);
});

test("the last subscribe decides whether states come", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = joinWithStates(world, "ben");
  ben.subscribe("c");
  world.advance(600);
  ben.take();
  setState(ann, { n: 1 });
  world.advance(10);
  expect(ben.take()).toEqual([]);
  ben.subscribe("c", { state: true });
  world.advance(600);
  expect(ben.take().at(-1)?.joined).toEqual([{ peerId: "ann", state: { n: 1 } }] as never);
  setState(ann, { n: 2 });
  world.advance(10);
  expect(states(ben)).toEqual([[{ peerId: "ann", state: { n: 2 } }]]);
});

test("a state comes before the next message and the next direct message of its peer", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = joinWithStates(world, "ben");
  ann.take();
  setState(ann, { n: 1 });
  ann.publish("c", "hello");
  expect(ben.newFrames()).toEqual(["state", 'message ann "hello"']);
  setState(ann, { n: 2 });
  ann.send("ben", "hi");
  ann.send("ben", "again");
  expect(ben.newFrames()).toEqual(["state", 'direct ann "hi"', 'direct ann "again"']);
});

test("a state that was shown before a direct message is taken back", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = joinWithStates(world, "ben");
  setState(ann, { n: 1 });
  ann.send("ben", "hi");
  setState(ann, null);
  world.advance(20);
  expect(states(ben).at(-1)).toEqual([{ peerId: "ann", state: null }]);
});

test("a state that is set before the join was shown comes behind the join", () => {
  const world = new World();
  const ben = joinWithStates(world, "ben");
  const ann = world.connect("ann");
  ann.subscribe("c");
  world.advance(11);
  setState(ann, { n: 1 });
  world.advance(20);
  expect(ben.newFrames()).toEqual(["joined: ann", "state"]);
});

test("a member that leaves and joins again has no state", () => {
  const world = new World();
  const ben = joinWithStates(world, "ben");
  const ann = world.join("ann", "c");
  setState(ann, { n: 1 });
  world.advance(10);
  ann.unsubscribe("c");
  world.advance(10);
  ann.subscribe("c");
  world.advance(600);
  expect(ben.newFrames()).toEqual(["joined: ann", "state", "left: ann", "joined: ann"]);
});

test("the newest connection of a peer decides its state", () => {
  const world = new World();
  const ben = joinWithStates(world, "ben");
  const older = world.join("ann", "c");
  setState(older, { n: 1 });
  world.advance(10);
  const newer = world.join("ann", "c");
  setState(older, { n: 2 });
  world.advance(10);
  setState(newer, { n: 3 });
  world.advance(10);
  newer.unsubscribe("c");
  world.advance(10);
  expect(states(ben)).toEqual([
    [{ peerId: "ann", state: { n: 1 } }],
    [{ peerId: "ann", state: null }],
    [{ peerId: "ann", state: { n: 3 } }],
    [{ peerId: "ann", state: { n: 2 } }],
  ]);
});

test("states reach subscriptions on other nodes, in rosters and as changes", async () => {
  const world = new World({ nodes: 2, traffic: delayed(4) });
  const ann = world.join("ann", "c");
  const ben = joinWithStates(world, "ben", 1);
  world.settle();
  ben.take();
  setState(ann, { n: 1 });
  world.settle();
  expect(states(ben)).toEqual([[{ peerId: "ann", state: { n: 1 } }]]);
  const cat = world.connect("cat", { node: 1 });
  cat.subscribe("c", { state: true });
  world.settle();
  await turn();
  const roster = cat.take().find(({ snapshot }) => snapshot)?.joined;
  expect(roster).toContainEqual({ peerId: "ann", state: { n: 1 } } as never);
  setState(ann, { n: 2 });
  ann.publish("c", 1);
  world.settle();
  expect(ben.newFrames().slice(-2)).toEqual(["state", "message ann 1"]);
});

test("a state that may not be one is refused, with what is wrong", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const refusal = (text: string): string | undefined => {
    ann.text(text);
    const [frame] = ann.take();
    world.advance(200);
    return frame?.code;
  };
  const frame = (state: string, channel = "c"): string => `{"type":"state","channel":"${channel}","state":${state}}`;
  for (const state of ["1", '"x"', "[]", "true", '{"a":1,"a":2}', '{"b":{"a":1,"a":2}}'])
    expect(refusal(frame(state))).toBe("malformed_message");
  expect(refusal('{"type":"state","channel":"c"}')).toBe("malformed_message");
  const sized = (bytes: number): string => `{"a":"${"x".repeat(bytes - 8)}"}`;
  expect(refusal(frame(sized(4097)))).toBe("malformed_message");
  expect(refusal(frame(sized(4096)))).toBeUndefined();
  expect(refusal(frame("{}", "other"))).toBe("channel_not_authorized");
  expect(refusal(frame("{}", "_system/x"))).toBe("channel_reserved");
  expect(refusal('{"type":"state","channel":1,"state":{}}')).toBe("invalid_channel");
});

test("a state needs the action presence and a subscription that was announced", () => {
  const world = new World();
  const ann = world.join("ann", "c", { actions: ["subscribe", "publish"] });
  setState(ann, {});
  expect(ann.newFrames()).toEqual(["error action_not_permitted r2"]);
  const ben = world.connect("ben").withholdPongs();
  ben.subscribe("c");
  ben.take();
  setState(ben, {});
  expect(ben.newFrames()).toEqual(["error channel_not_authorized r2"]);
  world.keys.editKey(SECRET_KEY, { actions: ["subscribe"] });
  setState(ben, {});
  expect(ben.newFrames().at(-1)).toBe("error action_not_permitted r3");
});

test("states have a rate of their own: the excess is refused and the connection goes on", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  for (let n = 0; n < 25; n++) setState(ann, { n });
  const codes = ann.take().map(({ type, code }) => code ?? type);
  expect(codes).toEqual([...Array(20).fill("ack"), ...Array(5).fill("rate_limited")]);
  world.advance(1000);
  for (let n = 0; n < 12; n++) setState(ann, { n });
  expect(ann.take().filter(({ type }) => type === "ack").length).toBe(10);
  expect(ann.closeCode).toBeUndefined();
});

test("a roster with states over the limit of a frame comes in parts, and what changed meanwhile follows", () => {
  const world = new World({ maxPendingBytes: 4096 });
  const members = Array.from({ length: 12 }, (_, i) => world.connect(`m${i}`));
  for (const member of members) member.subscribe("c");
  world.advance(600);
  for (const [i, member] of members.entries()) setState(member, { pad: "x".repeat(900), i });
  world.advance(600);
  const ben = world.connect("ben");
  ben.socket.stalled = true;
  ben.subscribe("c", { state: true });
  world.advance(600);
  const [first] = members;
  if (!first) throw new Error("no member");
  setState(first, { changed: true });
  world.advance(20);
  for (let i = 0; i < 20; i++) {
    ben.socket.read();
    world.advance(20);
  }
  const frames = ben.take();
  for (const text of ben.socket.written) expect(text.length).toBeLessThanOrEqual(4096);
  const roster = frames.filter(({ snapshot }) => snapshot);
  expect(roster.length).toBeGreaterThan(2);
  expect(roster.flatMap(({ joined }) => joined ?? []).length).toBe(12);
  expect(frames.at(-1)).toEqual({ type: "state", channel: "c", changed: [{ peerId: "m0", state: { changed: true } }] });
});

test("a state ends with the presence action, and does not come back with it", () => {
  const world = new World();
  const ann = world.join("ann", "c", { key: PUBLISHABLE_KEY });
  const ben = joinWithStates(world, "ben");
  setState(ann, { n: 1 });
  world.advance(20);
  world.keys.editKey(PUBLISHABLE_KEY, { actions: ["subscribe"] });
  world.advance(20);
  world.keys.editKey(PUBLISHABLE_KEY, { actions: ["subscribe", "presence"] });
  ann.subscribe("c");
  world.advance(600);
  expect(ben.newFrames()).toEqual(["state", "left: ann", "joined: ann"]);
});

test("a state before the ack of the subscribe is refused, also when the peer is shown already", () => {
  const late = new LateAnswers();
  const world = new World({ engine: late.between });
  const [ben, ann] = [world.connect("ben"), world.connect("ann")];
  ben.subscribe("a");
  late.release();
  for (const channel of ["a", "b"]) ann.subscribe(channel);
  ann.publish("a", 1);
  const requestId = ann.request({ type: "state", channel: "b", state: {} });
  expect(ann.newFrames()).toContain(`error channel_not_authorized ${requestId}`);
});
