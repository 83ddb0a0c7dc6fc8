/** JSON that is meant to hurt whoever reads it. Every one of these is within the size that is allowed. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { scanObject } from "../../src/protocol/scan.ts";
import type { AnyFrame } from "../conformance/raw/support/shapes.ts";
import { fresh } from "../conformance/raw/support/world.ts";
import { crowd, Siege } from "./support/siege.ts";

setDefaultTimeout(60_000);

const PEERS = 4;
/** Frames of each peer in one attack: under the burst that is allowed. */
const FRAMES = 12;
const LONG = 64_000;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.start();
});
afterAll(() => siege.stop());

/** Several peers send it over and over; `fits` looks at the answers to each peer's last one. */
function survives(text: string, fits: (answers: AnyFrame[]) => void): Promise<void> {
  return siege.withstands(async () => {
    await crowd(PEERS, PEERS, async () => {
      const wire = await siege.wire();
      for (let i = 1; i < FRAMES; i++) wire.send(text);
      await wire.sync();
      wire.send(text);
      fits(await wire.sync());
    });
  });
}

const refused =
  (code: string) =>
  (answers: AnyFrame[]): void => {
    const [first] = answers;
    expect([answers.length, first?.type, first?.type === "error" ? first.code : ""]).toEqual([1, "error", code]);
  };
const nothing = (answers: AnyFrame[]): void => expect(answers).toEqual([]);

const publish = (data: string, channel = "json"): string => `{"type":"publish","channel":"${channel}","data":${data}}`;
const nest = (open: string, close: string, depth: number, inner = ""): string =>
  open.repeat(depth) + inner + close.repeat(depth);

describe("nested brackets", () => {
  test("30,000 deep as a whole frame are malformed", () =>
    survives(nest("[", "]", 30_000), refused("malformed_message")));
  test("64,000 that never close are malformed", () => survives("[".repeat(LONG), refused("malformed_message")));
  test("12,000 objects deep that never close are malformed", () =>
    survives('{"a":'.repeat(12_000), refused("malformed_message")));

  test.each([
    ["arrays", nest("[", "]", 30_000)],
    ["objects", nest('{"a":', "}", 10_000, "1")],
  ])("deep %s as data arrive as they were sent, or are malformed; nothing else happens", (_, data) =>
    siege.withstands(async () => {
      const channel = fresh("deep");
      const [from, to] = await Promise.all([siege.wire(), siege.wire()]);
      await to.request({ type: "subscribe", channel });
      from.send(publish(data, channel));
      const answers = await from.sync();
      if (answers.length > 0) refused("malformed_message")(answers);
      await to.sync();
      const texts = to.events.flatMap((event) =>
        event.kind === "text" && event.text.includes('"message"') ? [event.text] : [],
      );
      expect(texts.map((text) => text.endsWith(`"data":${data}}`))).toEqual(answers.length > 0 ? [] : [true]);
    }),
  );
});

describe("numbers", () => {
  test("of 64,000 digits pass as they are", () => survives(publish("9".repeat(LONG)), nothing));
  test("with an exponent of 60,000 digits pass as they are", () =>
    survives(publish(`1e${"9".repeat(60_000)}`), nothing));
  test("with 60,000 zeros in front of the point are malformed", () =>
    survives(publish(`${"0".repeat(60_000)}.1`), refused("malformed_message")));
  test.each(["NaN", "Infinity", "-Infinity", "0x10", "1_000", "+1", ".5", "1.", "--1"])("%s is malformed", (number) =>
    survives(publish(number), refused("malformed_message")),
  );
});

describe("strings", () => {
  test("64,000 backslashes are a string", () => survives(publish(`"${"\\".repeat(LONG)}"`), nothing));
  test("63,999 backslashes never end", () =>
    survives(publish(`"${"\\".repeat(LONG - 1)}"`), refused("malformed_message")));
  test("64,000 backslashes outside a string are malformed", () =>
    survives("\\".repeat(LONG), refused("malformed_message")));
  test("32,000 escaped quotes are a string", () => survives(publish(`"${'\\"'.repeat(LONG / 2)}"`), nothing));
  test("a key of 30,000 escaped backslashes is ignored", () =>
    survives(`{"type":"publish","channel":"json","${"\\\\".repeat(30_000)}":1,"data":1}`, nothing));
  test("5,000 escaped lone surrogates pass as they are", () =>
    survives(publish(`"${"\\ud800".repeat(5000)}"`), nothing));
  test("9,000 strings of escapes are read in one pass", () =>
    survives(publish(`[${Array<string>(9000).fill('"\\\\\\""').join(",")}]`), nothing));
  test("64,000 spaces around a frame are nothing", () => survives(`${" ".repeat(LONG)}${publish("1")}`, nothing));
});

describe("keys", () => {
  test("5,000 of them are ignored", () => {
    const keys = Array.from({ length: 5000 }, (_, i) => `"k${i}":${i}`).join(",");
    return survives(`{"type":"publish","channel":"json","data":1,${keys}}`, nothing);
  });

  test("5,000 of them are looked through in one pass, also without an escape anywhere behind them", () => {
    const tail = "x".repeat(19_000);
    const object = (value: string): string => `{${`"a":"${value}",`.repeat(5000)}"b":"${tail}"}`;
    const quickest = (text: string): number => {
      let least = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 20; i++) {
        const started = performance.now();
        scanObject(text, "data");
        least = Math.min(least, performance.now() - started);
      }
      return least;
    };
    // The same keys and the same length: where one is much slower, each key is searched for a backslash to the end of the text.
    expect(quickest(object("nn")) / quickest(object("\\n"))).toBeLessThan(2.5);
  });

  test("a key twice is malformed, however it is spelt", () =>
    survives('{"type":"publish","channel":"json","data":1,"d\\u0061ta":2}', refused("malformed_message")));
  test("__proto__ gives a frame nothing it does not have", () =>
    survives('{"__proto__":{"type":"publish","channel":"json","data":1}}', refused("malformed_message")));
  test("__proto__ beside the rest is an extra field", () =>
    survives('{"type":"publish","channel":"json","data":1,"__proto__":{"requestId":"polluted"}}', nothing));
  test("__proto__ twice is malformed", () =>
    survives('{"type":"ping","__proto__":1,"__proto__":2}', refused("malformed_message")));
  test("constructor.prototype changes nobody's objects", () =>
    survives(
      '{"type":"publish","channel":"json","data":1,"constructor":{"prototype":{"requestId":"polluted","data":2}}}',
      nothing,
    ));
});

/** Names that every object answers to. */
const INHERITED = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "__defineGetter__"];

describe("names that every object has", () => {
  test.each(INHERITED)("%s is an unknown type", (type) => survives(JSON.stringify({ type }), refused("unknown_type")));
  test.each(INHERITED)("nobody has the peerId %s", (to) =>
    survives(JSON.stringify({ type: "send", to, data: 1 }), refused("peer_not_found")),
  );

  test.each(INHERITED)("%s is a channel, a requestId and a peerId like any other", (name) =>
    siege.withstands(async () => {
      const [from, to] = await Promise.all([siege.wire({ sub: name }), siege.wire()]);
      to.send({ type: "subscribe", channel: name, requestId: name });
      expect(await to.answerTo(name)).toEqual({ type: "ack", requestId: name });
      from.send({ type: "publish", channel: name, data: name, requestId: name });
      expect(await to.until("message")).toEqual({ type: "message", channel: name, from: name, data: name });
      expect(await from.answerTo(name)).toEqual({ type: "ack", requestId: name });
      to.send({ type: "unsubscribe", channel: name });
      expect((await to.sync()).filter(({ type }) => type === "error")).toEqual([]);
    }),
  );
});

test("a type of 64,000 characters is unknown, and not repeated back", () =>
  survives(JSON.stringify({ type: "x".repeat(LONG) }), (answers) => {
    refused("unknown_type")(answers);
    expect(JSON.stringify(answers).length).toBeLessThan(500);
  }));

test("fields of every wrong kind are refused one by one", () => {
  const values = ["null", "[]", "{}", "1", "true", '""', '["a"]', '{"toString":"a"}', '"\\u0000"', '"\\ud800"'];
  const fields = ["type", "channel", "to", "requestId", "includeSenderMetadata"];
  return siege.withstands(async () => {
    const wire = await siege.wire();
    for (const type of ["subscribe", "send"])
      for (const field of fields)
        for (const value of values)
          wire.send(`{"type":"${type}","${field}":${value}}`.replace(/^\{"type":"\w+","type"/, '{"type"'));
    const answers = await wire.sync();
    expect(answers.length).toBe(2 * fields.length * values.length);
    expect([...new Set(answers.map(({ type }) => type))]).toEqual(["error"]);
  });
});
