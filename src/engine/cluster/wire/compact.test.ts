/** The format between the workers of one machine: what is read is what was written. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Envelope, MemberState } from "../../engine.ts";
import * as compact from "./compact.ts";
import { COMPACT_FORMAT, JSON_FORMAT } from "./format.ts";
import type { DirectMessage, MembersChange } from "./messages.ts";

const APP = anAppId("app");

/** Printable ASCII, as peer ids and ids of messages are. */
const name = fc.stringMatching(/^[ -~]{1,40}$/);
/** No control characters, as in names of channels. */
const channel = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !/\p{Cc}/u.test(text));
const node = fc.stringMatching(/^[\w~-]{1,64}$/);
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const data = fc.jsonValue().map((value) => JSON.stringify(value));
const object = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const stored = fc.record({
  epoch: fc.stringMatching(/^[a-z0-9]{1,16}$/),
  offset: count,
  check: fc.stringMatching(/^[a-z0-9]{1,16}$/),
  time: count,
  connection: maybe(fc.stringMatching(/^[\w-]{1,40}$/)),
});
const envelope: fc.Arbitrary<Envelope> = fc.record({
  from: name,
  metadataJson: maybe(object),
  dataJson: data,
  id: maybe(name),
});
const place = fc.record({ node, app: fc.constant(APP), channel, epoch: count, n: count });
const yes = maybe(fc.constant(true as const));
const present = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
const lingers = fc
  .record({
    why: fc.constantFrom("lost" as const, "held" as const),
    untilMs: count,
    keyId: name,
    leftMs: maybe(count),
    hadOther: yes,
  })
  .map(present) as fc.Arbitrary<NonNullable<MemberState["lingers"]>>;
const member: fc.Arbitrary<MemberState> = fc
  .record({
    peerId: name,
    since: count,
    node,
    metadataJson: maybe(object),
    isArriving: yes,
    isReturning: yes,
    stateJson: maybe(object),
    lingers: maybe(lingers),
  })
  .map((state) => present(state) as MemberState);

describe("a text between workers", () => {
  test("of a message is read as it was written, whatever its fields contain", () => {
    fc.assert(
      fc.property(place, envelope, maybe(stored), (at, plain, inStream) => {
        const sent = { ...plain, stored: inStream };
        const item = compact.sequenceItem(compact.message(at, sent), APP, at.channel);
        expect(item).toEqual({ kind: "message", place: at, envelope: sent });
      }),
    );
  });

  test("of one member that is connected there says the same as the JSON", () => {
    fc.assert(
      fc.property(place, member, maybe(name), (at, { lingers: _, ...state }, keyId) => {
        const own = present({ ...state, node: at.node, keyId }) as MemberState;
        const change: MembersChange = { joined: [own], left: [] };
        const json = JSON_FORMAT.sequenceItem(JSON_FORMAT.members(at, change), APP, at.channel);
        const text = compact.members(at, change);
        expect(text[0]).toBe("J");
        expect(compact.sequenceItem(text, APP, at.channel)).toEqual(json);
      }),
    );
  });

  test("of members says the same as the JSON that other nodes get", () => {
    fc.assert(
      fc.property(place, fc.array(member, { maxLength: 3 }), fc.array(name, { maxLength: 3 }), (at, joined, left) => {
        const change: MembersChange = { joined, left };
        const json = JSON_FORMAT.sequenceItem(JSON_FORMAT.members(at, change), APP, at.channel);
        expect(compact.sequenceItem(compact.members(at, change), APP, at.channel)).toEqual(json);
      }),
    );
  });

  test("of a direct message is read as it was written", () => {
    const message = fc.record({
      node,
      number: count,
      app: fc.constant(APP),
      to: name,
      envelope: fc.tuple(envelope, yes, yes, maybe(name)).map(([plain, awaitsRoster, sentEarlier, idScope]) => ({
        ...plain,
        idScope,
        ...(awaitsRoster && { awaitsRoster }),
        ...(sentEarlier && { sentEarlier }),
      })),
      isNext: maybe(fc.boolean()),
      oldest: maybe(count),
    }) as fc.Arbitrary<DirectMessage>;
    fc.assert(
      fc.property(message, (sent) => {
        expect(compact.directMessageOf(compact.directMessage(sent))).toEqual(sent);
      }),
    );
  });

  test.each([
    [{ node: "n1", count: 3 }],
    [{ node: "n1", count: 0, isDeferred: true, isLate: false }],
    [{ node: "n1", count: 0, isDeferred: true, isLate: true }],
  ])("of a receipt %p is read as it was written", (receipt) => {
    expect(compact.deliveryCountOf(compact.deliveryCount(receipt))).toEqual(receipt);
  });

  test("of a question for the state of a sequence, and its answer, are read as they were written", () => {
    const known = fc.array(member, { maxLength: 3 });
    fc.assert(
      fc.property(place, known, maybe(count), ({ node: name, app, channel: asked, epoch, n }, members, idleMs) => {
        const question = { kind: "sequences" as const, channels: [[app, asked]] as const };
        expect(COMPACT_FORMAT.nodeMessage(COMPACT_FORMAT.request(name, question))).toEqual({
          kind: "request",
          node: name,
          request: question,
        });
        const state = { app, channel: asked, epoch, n, members, idleMs, earlierIdleMs: idleMs, clockMs: idleMs };
        const part = { node: name, part: 0, parts: 1, response: { kind: "sequences" as const, sequences: [state] } };
        expect(COMPACT_FORMAT.responsePartOf(COMPACT_FORMAT.responsePart(part))).toEqual(part);
      }),
    );
  });

  test("of another kind is left to the JSON format", () => {
    const at = { node: "n1", app: APP, channel: "c", epoch: 1, n: 1 };
    const text = JSON_FORMAT.message(at, { from: "ann", metadataJson: undefined, dataJson: "1" });
    expect(compact.sequenceItem(text, APP, "c")).toBeUndefined();
    expect(COMPACT_FORMAT.sequenceItem(text, APP, "c")?.place.n).toBe(1);
    expect([compact.directMessageOf(text), compact.deliveryCountOf(text)]).toEqual([undefined, undefined]);
  });
});
