/** JSON that is costly or dangerous to parse. Every text is within the allowed size. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { scanObject } from "../../src/protocol/scan.ts";
import { fresh } from "../conformance/raw/support/world.ts";
import type { AnyFrame } from "../support/wire/shapes.ts";
import { crowd, FULL, Siege } from "./support/siege.ts";

setDefaultTimeout(60_000);

const PEERS = FULL ? 4 : 2;
/** Frames per peer in one attack: below the allowed burst. */
const FRAMES = FULL ? 12 : 4;
const LONG = 64_000;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.start();
});
afterAll(() => siege.stop());

/** Several peers send it repeatedly; `fits` checks the responses to each peer's last one. */
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
  test("64,000 unclosed are malformed", () => survives("[".repeat(LONG), refused("malformed_message")));
  test("12,000 objects deep without a close are malformed", () =>
    survives('{"a":'.repeat(12_000), refused("malformed_message")));

  test.each([
    ["arrays", nest("[", "]", 30_000)],
    ["objects", nest('{"a":', "}", 10_000, "1")],
  ])("deep %s as data arrive unchanged, or are malformed", (_, data) =>
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
  test("of 64,000 digits pass unchanged", () => survives(publish("9".repeat(LONG)), nothing));
  test("with an exponent of 60,000 digits pass unchanged", () => survives(publish(`1e${"9".repeat(60_000)}`), nothing));
  test("with 60,000 zeros before the point are malformed", () =>
    survives(publish(`${"0".repeat(60_000)}.1`), refused("malformed_message")));
  test.each(["NaN", "Infinity", "-Infinity", "0x10", "1_000", "+1", ".5", "1.", "--1"])("%s is malformed", (number) =>
    survives(publish(number), refused("malformed_message")),
  );
});

describe("strings", () => {
  test("64,000 backslashes are a valid string", () => survives(publish(`"${"\\".repeat(LONG)}"`), nothing));
  test("63,999 backslashes are an unterminated string", () =>
    survives(publish(`"${"\\".repeat(LONG - 1)}"`), refused("malformed_message")));
  test("64,000 backslashes outside a string are malformed", () =>
    survives("\\".repeat(LONG), refused("malformed_message")));
  test("32,000 escaped quotes are a valid string", () => survives(publish(`"${'\\"'.repeat(LONG / 2)}"`), nothing));
  test("a key of 30,000 escaped backslashes is ignored", () =>
    survives(`{"type":"publish","channel":"json","${"\\\\".repeat(30_000)}":1,"data":1}`, nothing));
  test("5,000 escaped lone surrogates pass unchanged", () => survives(publish(`"${"\\ud800".repeat(5000)}"`), nothing));
  test("9,000 strings of escapes are read in one pass", () =>
    survives(publish(`[${Array<string>(9000).fill('"\\\\\\""').join(",")}]`), nothing));
  test("64,000 spaces around a frame are ignored", () => survives(`${" ".repeat(LONG)}${publish("1")}`, nothing));
});

describe("keys", () => {
  /** Returns the least time for each text. The texts take turns, so that a busy machine slows all of them down. */
  const quickest = (texts: readonly string[]): number[] => {
    const least = texts.map(() => Number.POSITIVE_INFINITY);
    for (let i = 0; i < 50; i++)
      for (const [at, text] of texts.entries()) {
        const started = performance.now();
        scanObject(text, "data");
        least[at] = Math.min(least[at] ?? 0, performance.now() - started);
      }
    return least;
  };
  const withMore = (count: number, key: string): string => {
    const keys = Array.from({ length: count }, (_, i) => `"${key}${i}":${i}`).join(",");
    return `{"type":"publish","channel":"json","data":1,${keys}}`;
  };
  test("that mean nothing are ignored, up to 64 in all", () => survives(withMore(61, "k"), nothing));
  test("beyond that are malformed, also thousands of them", async () => {
    for (const text of [withMore(62, "k"), withMore(5000, "k"), withMore(4000, "\\n")])
      await survives(text, refused("malformed_message"));
  });

  test("5,000 of them are scanned in one pass, also without any escape after them", () => {
    const tail = "x".repeat(19_000);
    const object = (value: string): string => `{${`"a":"${value}",`.repeat(5000)}"b":"${tail}"}`;
    const texts = [object("nn"), object("\\n")] as const;
    const [plain = 0, escaped = 1] = quickest(texts);
    // The same keys and the same length: if one is many times slower, each key causes a search for a backslash through the rest of the text.
    expect(plain / escaped).toBeLessThan(8);
  });

  test("a duplicate key is malformed, also if it is escaped differently", () =>
    survives('{"type":"publish","channel":"json","data":1,"d\\u0061ta":2}', refused("malformed_message")));
  test("__proto__ adds no field to a frame", () =>
    survives('{"__proto__":{"type":"publish","channel":"json","data":1}}', refused("malformed_message")));
  test("__proto__ beside other fields is an extra field", () =>
    survives('{"type":"publish","channel":"json","data":1,"__proto__":{"requestId":"polluted"}}', nothing));
  test("__proto__ twice is malformed", () =>
    survives('{"type":"ping","__proto__":1,"__proto__":2}', refused("malformed_message")));
  test("constructor.prototype changes no object", () =>
    survives(
      '{"type":"publish","channel":"json","data":1,"constructor":{"prototype":{"requestId":"polluted","data":2}}}',
      nothing,
    ));
});

/** Names of properties that every object inherits. */
const INHERITED = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "__defineGetter__"];

describe("names of inherited properties", () => {
  test.each(INHERITED)("%s is an unknown type", (type) => survives(JSON.stringify({ type }), refused("unknown_type")));
  test.each(INHERITED)("no peer has the peerId %s", (to) =>
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

test("a type of 64,000 characters is unknown, and not echoed", () =>
  survives(JSON.stringify({ type: "x".repeat(LONG) }), (answers) => {
    refused("unknown_type")(answers);
    expect(JSON.stringify(answers).length).toBeLessThan(500);
  }));

test("fields of every wrong type are each refused", () => {
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
