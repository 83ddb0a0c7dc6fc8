/** What nodes write to each other is read as it was meant; anything else is nothing. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as decode from "./decode.ts";
import * as wire from "./encode.ts";
import { TEXT_MAX_BYTES } from "./payload.ts";

const peerId = fc.stringMatching(/^[\x20-\x7e]{1,128}$/);
const metadata = fc.option(
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  { nil: undefined },
);
const envelope = fc.record({
  from: peerId,
  metadataJson: metadata,
  dataJson: fc.jsonValue().map((value) => JSON.stringify(value, null, 1)),
});
const count = fc.nat();
const node = fc.stringMatching(/^[\w~-]{1,64}$/);
const place = fc.record({ node, app: fc.string(), channel: fc.string(), epoch: count, n: count });
const state = fc.record({
  peerId,
  metadataJson: metadata,
  since: fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }),
});
const states = fc.array(state, { maxLength: 5 });

describe("what is written is read", () => {
  test("messages, members and tails of a lane", () => {
    fc.assert(
      fc.property(place, envelope, states, fc.array(peerId), (at, words, joined, left) => {
        const change = { joined, left };
        expect(decode.laneItem(wire.message(at, words))).toEqual({ kind: "message", place: at, envelope: words });
        expect(decode.laneItem(wire.members(at, change))).toEqual({ kind: "members", place: at, change });
        expect(decode.laneItem(wire.tail(at))).toEqual({ kind: "tail", place: at });
      }),
    );
  });

  test("direct messages and how many have them", () => {
    fc.assert(
      fc.property(node, fc.string(), peerId, envelope, count, (node, app, to, words, handed) => {
        expect(decode.directIn(wire.direct({ node, number: handed, app, to, envelope: words }))).toEqual({
          node,
          number: handed,
          app,
          to,
          envelope: words,
        });
        expect(decode.handedIn(wire.handed(node, handed))).toEqual({ node, count: handed });
      }),
    );
  });

  test("beats, farewells, questions and answers", () => {
    const lane = fc.record({ app: fc.string(), channel: fc.string(), epoch: count, n: count, members: states });
    fc.assert(
      fc.property(node, fc.array(lane, { maxLength: 3 }), place, (node, lanes, at) => {
        const beat = { node, connections: new Map([["app", 3]]), hears: ["x", node], isBack: true, part: 1, parts: 3 };
        expect(decode.toAll(wire.beat(beat))).toEqual({ kind: "beat", ...beat });
        expect(decode.toAll(wire.farewell(node))).toEqual({ kind: "farewell", node });
        const questions: wire.Question[] = [
          { what: "who", channels: [[at.app, at.channel]] },
          { what: "again", place: at, to: 7 },
          { what: "kick", app: at.app, peerId: "eve" },
        ];
        for (const question of questions)
          expect(decode.toAll(wire.question(node, question))).toEqual({ kind: "question", node, question });
        const answers: wire.Answer[] = [
          { what: "who", lanes },
          { what: "again", items: undefined },
          { what: "again", items: ["one", "two"] },
          { what: "channels", counts: [{ channel: "c", peerIds: ["x"], connections: 2 }] },
          { what: "members", members: lanes.flatMap(({ members }) => members) },
          { what: "kick", closed: 2 },
        ];
        for (const answer of answers)
          expect(decode.answerIn(wire.answered({ node, part: 0, parts: 1, answer }))).toEqual({
            node,
            part: 0,
            parts: 1,
            answer,
          });
      }),
    );
  });
});

test("the longest text that a node may send is read", () => {
  const at = { node: "n", app: "a", channel: "c", epoch: 1, n: 1 };
  const lengthOf = (chars: number): string =>
    wire.message(at, { from: "x", metadataJson: undefined, dataJson: `"${"x".repeat(chars)}"` });
  const longest = lengthOf(TEXT_MAX_BYTES - lengthOf(0).length);
  expect(Buffer.byteLength(longest)).toBe(TEXT_MAX_BYTES);
  expect(decode.laneItem(longest)?.kind).toBe("message");
});

describe("what is not ours is nothing", () => {
  const readers = [decode.laneItem, decode.toAll, decode.answerIn, decode.directIn, decode.handedIn];

  test("any text, any JSON, any of our own texts with something changed", () => {
    const good = wire.message(
      { node: "n", app: "a", channel: "c", epoch: 1, n: 1 },
      { from: "x", metadataJson: '{"a":1}', dataJson: '{"b":2}' },
    );
    const damaged = fc
      .tuple(fc.nat(good.length - 1), fc.string({ maxLength: 3 }))
      .map(([at, put]) => good.slice(0, at) + put + good.slice(at + 1));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), damaged), (text) => {
        for (const read of readers) {
          const found = read(text);
          // Whatever is let through can be put into a frame.
          if (found && "envelope" in found)
            JSON.parse(`{"data":${found.envelope.dataJson},"m":${found.envelope.metadataJson ?? 1}}`);
        }
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ["data that is no JSON", '[2,"message","n","a","c",1,1,"x",-1]\n{"a":'],
    ["two values as data", '[2,"message","n","a","c",1,1,"x",-1]\n1,"to":2'],
    ["metadata that is no object", '[2,"message","n","a","c",1,1,"x",1]\n1"data"'],
    ["a sender with a line break", '[2,"message","n","a","c",1,1,"x\\n",-1]\n1'],
    ["a number below nothing", '[2,"message","n","a","c",1,-1,"x",-1]\n1'],
    ["another version", '[1,"message","n","a","c",1,1,"x",-1]\n1'],
    ["a member of no name", '[2,"members","n","a","c",1,1,[["",1]],[]]'],
    ["no JSON at all", "hello"],
    ["far too long", `[2,"message","n","a","c",1,1,"x",-1]\n"${"x".repeat(TEXT_MAX_BYTES)}"`],
  ])("%s", (_what, text) => {
    expect(readers.map((read) => read(text))).toEqual(readers.map(() => undefined));
  });
});

describe("names that no node of ours has", () => {
  const long = "x".repeat(5000);
  const at = { node: "n", app: "a", channel: "c", epoch: 1, n: 1 };
  const beat = { node: "n", connections: new Map<string, number>(), hears: [], isBack: false, part: 0, parts: 1 };

  test.each(["", "a b", "a.b", "x".repeat(65), long])("a node called %p is nobody", (name) => {
    expect(decode.toAll(wire.beat({ ...beat, node: name }))).toBeUndefined();
    expect(decode.toAll(wire.beat({ ...beat, hears: [name] }))).toBeUndefined();
    expect(decode.toAll(wire.farewell(name))).toBeUndefined();
    expect(decode.laneItem(wire.tail({ ...at, node: name }))).toBeUndefined();
    expect(decode.handedIn(wire.handed(name, 1))).toBeUndefined();
  });

  test("a UUID is a name", () => {
    const name = crypto.randomUUID();
    expect(decode.toAll(wire.farewell(name))).toEqual({ kind: "farewell", node: name });
  });

  test("long applications and channels are refused", () => {
    expect(decode.toAll(wire.count("n", long, 1))).toBeUndefined();
    expect(decode.toAll(wire.beat({ ...beat, connections: new Map([[long, 1]]) }))).toBeUndefined();
    for (const channel of [
      { ...at, app: long },
      { ...at, channel: long },
    ])
      expect(decode.laneItem(wire.tail(channel))).toBeUndefined();
  });

  test("a question about more channels than any node asks about at once is refused", () => {
    const about = (count: number): string =>
      wire.question("n", { what: "who", channels: Array.from({ length: count }, (_, i) => ["a", `${i}`] as const) });
    expect(decode.toAll(about(decode.ASKED_CHANNELS_MAX))).toBeDefined();
    expect(decode.toAll(about(decode.ASKED_CHANNELS_MAX + 1))).toBeUndefined();
  });
});
