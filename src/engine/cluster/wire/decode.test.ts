/** What encode.ts writes, decode.ts reads; everything else is undefined. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { AppId } from "../../../base/ids.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import { runs } from "../../../testing/runs.ts";
import * as decode from "./decode.ts";
import * as encode from "./encode.ts";
import type { NodeRequest, NodeResponse } from "./messages.ts";
import { PARTS_MAX, TEXT_MAX_BYTES } from "./payload.ts";

const A = anAppId("a");

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
const app = fc.string().map(anAppId);
const place = fc.record({ node, app, channel: fc.string(), epoch: count, n: count });
const state = fc.record({
  peerId,
  metadataJson: metadata,
  since: fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }),
  node,
});
const states = fc.array(state, { maxLength: 5 });

describe("encoding and decoding", () => {
  test("items of sequences", () => {
    fc.assert(
      fc.property(place, envelope, states, fc.array(peerId), (at, content, joined, left) => {
        const change = { joined, left };
        expect(decode.sequenceItem(encode.message(at, content))).toEqual({
          kind: "message",
          place: at,
          envelope: content,
        });
        expect(decode.sequenceItem(encode.members(at, change))).toEqual({ kind: "members", place: at, change });
        expect(decode.sequenceItem(encode.tail(at))).toEqual({ kind: "tail", place: at });
      }),
    );
  });

  test("direct messages and their receipts", () => {
    fc.assert(
      fc.property(node, app, peerId, envelope, count, (node, app, to, content, count) => {
        expect(decode.directMessage(encode.directMessage({ node, number: count, app, to, envelope: content }))).toEqual(
          {
            node,
            number: count,
            app,
            to,
            envelope: content,
          },
        );
        expect(decode.deliveryCount(encode.deliveryCount({ node, count }))).toEqual({ node, count });
      }),
    );
  });

  test("heartbeats, farewells, requests and responses", () => {
    const sequence = fc.record({ app, channel: fc.string(), epoch: count, n: count, members: states });
    fc.assert(
      fc.property(node, fc.array(sequence, { maxLength: 3 }), place, (node, sequences, at) => {
        const heartbeat = {
          node,
          connections: new Map([[anAppId("app"), 3]]),
          receivesFrom: ["x", node],
          isReconnected: true,
          part: 1,
          parts: 3,
        };
        expect(decode.nodeMessage(encode.heartbeat(heartbeat))).toEqual({ kind: "heartbeat", ...heartbeat });
        expect(decode.nodeMessage(encode.farewell(node))).toEqual({ kind: "farewell", node });
        const requests: NodeRequest[] = [
          { kind: "sequences", channels: [[at.app, at.channel]] },
          { kind: "replay", from: at, to: 7 },
          { kind: "kick", app: at.app, peerId: "eve" },
        ];
        for (const request of requests)
          expect(decode.nodeMessage(encode.request(node, request))).toEqual({ kind: "request", node, request });
        const responses: NodeResponse[] = [
          { kind: "sequences", sequences },
          { kind: "replay", items: undefined },
          { kind: "replay", items: ["one", "two"] },
          { kind: "channels", counts: [{ channel: "c", peerIds: ["x"], connections: 2 }] },
          { kind: "members", members: sequences.flatMap(({ members }) => members) },
          { kind: "kick", closed: 2 },
        ];
        for (const response of responses)
          expect(decode.responsePart(encode.responsePart({ node, part: 0, parts: 1, response }))).toEqual({
            node,
            part: 0,
            parts: 1,
            response,
          });
      }),
    );
  });
});

test("the longest text that a node may send is accepted", () => {
  const at = { node: "n", app: A, channel: "c", epoch: 1, n: 1 };
  const lengthOf = (chars: number): string =>
    encode.message(at, { from: "x", metadataJson: undefined, dataJson: `"${"x".repeat(chars)}"` });
  const longest = lengthOf(TEXT_MAX_BYTES - lengthOf(0).length);
  expect(Buffer.byteLength(longest)).toBe(TEXT_MAX_BYTES);
  expect(decode.sequenceItem(longest)?.kind).toBe("message");
});

describe("a text that no node sends", () => {
  const readers = [
    decode.sequenceItem,
    decode.nodeMessage,
    decode.responsePart,
    decode.directMessage,
    decode.deliveryCount,
  ];

  test("random texts, random JSON and damaged messages never throw", () => {
    const good = encode.message(
      { node: "n", app: A, channel: "c", epoch: 1, n: 1 },
      { from: "x", metadataJson: '{"a":1}', dataJson: '{"b":2}' },
    );
    const damaged = fc
      .tuple(fc.nat(good.length - 1), fc.string({ maxLength: 3 }))
      .map(([at, put]) => good.slice(0, at) + put + good.slice(at + 1));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), damaged), (text) => {
        for (const read of readers) {
          const found = read(text);
          // Everything accepted can be copied into a frame.
          if (found && "envelope" in found)
            JSON.parse(`{"data":${found.envelope.dataJson},"m":${found.envelope.metadataJson ?? 1}}`);
        }
      }),
      { numRuns: runs(3000) },
    );
  });

  test.each([
    ["data that is not JSON", '[2,"message","n","a","c",1,1,"x",-1]\n{"a":'],
    ["two values as data", '[2,"message","n","a","c",1,1,"x",-1]\n1,"to":2'],
    ["metadata that is not an object", '[2,"message","n","a","c",1,1,"x",1]\n1"data"'],
    ["a sender with a line break", '[2,"message","n","a","c",1,1,"x\\n",-1]\n1'],
    ["a negative sequence number", '[2,"message","n","a","c",1,-1,"x",-1]\n1'],
    ["another version", '[1,"message","n","a","c",1,1,"x",-1]\n1'],
    ["a member without a name", '[2,"members","n","a","c",1,1,[["",1]],[]]'],
    ["no JSON", "hello"],
    ["a text above the limit", `[2,"message","n","a","c",1,1,"x",-1]\n"${"x".repeat(TEXT_MAX_BYTES)}"`],
  ])("%s is refused", (_what, text) => {
    expect(readers.map((read) => read(text))).toEqual(readers.map(() => undefined));
  });
});

describe("nesting", () => {
  /** A farewell with further fields, which are ignored. It is long enough for its nesting to be checked. */
  const nested = (depth: number): string =>
    `[2,"farewell","n",${JSON.stringify("x".repeat(5000))},${"[".repeat(depth)}${"]".repeat(depth)}]`;

  test("above the limit is refused", () => {
    expect(decode.nodeMessage(nested(15))).toEqual({ kind: "farewell", node: "n" });
    expect(decode.nodeMessage(nested(16))).toBeUndefined();
  });

  test("does not include brackets inside strings", () => {
    const at = { node: "n", app: A, channel: "c", epoch: 1, n: 1 };
    const dataJson = JSON.stringify(`\\"${"[{".repeat(5000)}`);
    const content = { from: "x", metadataJson: undefined, dataJson };
    const found = decode.sequenceItem(encode.message(at, content));
    expect(found?.kind === "message" && found.envelope.dataJson === dataJson).toBeTrue();
  });
});

test("heartbeats and responses with too many parts are refused", () => {
  const heartbeat = (parts: number): string =>
    encode.heartbeat({ node: "n", connections: new Map(), receivesFrom: [], isReconnected: false, part: 0, parts });
  const response = (parts: number): string =>
    encode.responsePart({ node: "n", part: 0, parts, response: { kind: "block" } });
  expect(decode.nodeMessage(heartbeat(PARTS_MAX))).toBeDefined();
  expect(decode.responsePart(response(PARTS_MAX))).toBeDefined();
  expect(decode.nodeMessage(heartbeat(PARTS_MAX + 1))).toBeUndefined();
  expect(decode.responsePart(response(PARTS_MAX + 1))).toBeUndefined();
});

describe("invalid names", () => {
  const long = anAppId("x".repeat(5000));
  const at = { node: "n", app: A, channel: "c", epoch: 1, n: 1 };
  const heartbeat = {
    node: "n",
    connections: new Map<AppId, number>(),
    receivesFrom: [],
    isReconnected: false,
    part: 0,
    parts: 1,
  };

  test.each(["", "a b", "a.b", "x".repeat(65), long])("a node called %p is refused", (name) => {
    expect(decode.nodeMessage(encode.heartbeat({ ...heartbeat, node: name }))).toBeUndefined();
    expect(decode.nodeMessage(encode.heartbeat({ ...heartbeat, receivesFrom: [name] }))).toBeUndefined();
    expect(decode.nodeMessage(encode.farewell(name))).toBeUndefined();
    expect(decode.sequenceItem(encode.tail({ ...at, node: name }))).toBeUndefined();
    expect(decode.deliveryCount(encode.deliveryCount({ node: name, count: 1 }))).toBeUndefined();
  });

  test("a UUID is accepted", () => {
    const name = crypto.randomUUID();
    expect(decode.nodeMessage(encode.farewell(name))).toEqual({ kind: "farewell", node: name });
  });

  test("long applications and channels are refused", () => {
    expect(decode.nodeMessage(encode.connectionCount({ node: "n", app: long, connections: 1 }))).toBeUndefined();
    expect(decode.nodeMessage(encode.heartbeat({ ...heartbeat, connections: new Map([[long, 1]]) }))).toBeUndefined();
    for (const channel of [
      { ...at, app: long },
      { ...at, channel: long },
    ])
      expect(decode.sequenceItem(encode.tail(channel))).toBeUndefined();
  });

  test("a page of channels that no node asks for is refused, rather than answered with other channels", () => {
    const page = { prefix: "c", after: "c/1", limit: 9, scope: ["c/*"] };
    const decoded = (changes: object): unknown =>
      decode.nodeMessage(
        JSON.stringify([2, "question", "n1", { what: "channels", app: "a", page: { ...page, ...changes } }]),
      );
    expect(decoded({})).toMatchObject({ request: { page: { prefix: "c", limit: 9 } } });
    expect(decoded({ after: undefined })).toMatchObject({ request: { page: { prefix: "c" } } });
    const long = "x".repeat(8193);
    for (const changes of [
      ...[{ prefix: 1 }, { prefix: long }, { after: null }, { after: long }],
      ...[{ limit: 0 }, { limit: 1.5 }, { limit: 4097 }, { limit: "9" }],
      ...[{ scope: "c/*" }, { scope: [1] }, { scope: ["***"] }, { scope: Array.from({ length: 101 }, () => "c") }],
    ])
      expect({ changes, decoded: decoded(changes) }).toEqual({ changes, decoded: undefined });
    expect(decode.nodeMessage('[2,"question","n1",{"what":"channels","app":"a","page":null}]')).toBeUndefined();
  });

  test("a request with too many channels is refused", () => {
    const about = (count: number): string =>
      encode.request("n", {
        kind: "sequences",
        channels: Array.from({ length: count }, (_, i) => [A, `${i}`] as const),
      });
    expect(decode.nodeMessage(about(decode.REQUEST_CHANNELS_MAX))).toBeDefined();
    expect(decode.nodeMessage(about(decode.REQUEST_CHANNELS_MAX + 1))).toBeUndefined();
  });
});
