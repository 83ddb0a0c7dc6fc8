import { expect, test } from "bun:test";
import { isSignedBy, type ParsedJws, parseJws, payloadOf, signJws } from "./jws.ts";

const KEY = Buffer.from("a key");
const MAX_CHARS = 10_000;
const parsed = (text: string): ParsedJws => parseJws(text, MAX_CHARS) as ParsedJws;
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

test("tokens with the same header differ by their payload and signature", () => {
  const [one, other] = ["ann", "ben"].map((sub) => signJws({ kid: "k" }, { sub }, KEY)) as [string, string];
  expect(parsed(one).header).toEqual({ alg: "HS256", kid: "k", typ: "JWT" });
  for (const text of [one, other, one]) expect(isSignedBy(parsed(text), KEY)).toBe(true);
  const exchanged = one.slice(0, one.lastIndexOf(".")) + other.slice(other.lastIndexOf("."));
  expect(isSignedBy(parsed(exchanged), KEY)).toBe(false);
  expect(isSignedBy(parsed(one), Buffer.from("another key"))).toBe(false);
});

test("a header is kept once the signature of its token was right, and cannot be changed then", () => {
  const kept = signJws({ kid: "kept" }, { sub: "ann" }, KEY);
  const { header } = parsed(kept);
  expect(isSignedBy(parsed(kept), Buffer.from("another key"))).toBe(false);
  expect(parsed(kept).header).not.toBe(parsed(kept).header);
  expect(isSignedBy(parsed(kept), KEY)).toBe(true);
  expect(parsed(kept).header).toBe(parsed(kept).header);
  expect(parsed(kept).header).toEqual(header);
  expect(() => Object.assign(parsed(kept).header, { kid: "other" })).toThrow();
});

test("a signature of zeros is refused, as the first one that is checked with a key and later", () => {
  const input = signJws({}, { sub: "ann" }, KEY).split(".").slice(0, 2).join(".");
  const zeros = `${input}.${Buffer.alloc(32).toString("base64url")}`;
  for (const key of [Buffer.from("a new key"), KEY, KEY]) expect(isSignedBy(parsed(zeros), key)).toBe(false);
});

test("a header is judged by its whole text, however often it comes and however many others did", () => {
  const [, payload, signature] = signJws({ kid: "k" }, { sub: "ann" }, KEY).split(".");
  const withHeader = (header: object) => parseJws(`${encoded(header)}.${payload}.${signature}`, MAX_CHARS);
  for (let i = 0; i < 2500; i++) {
    expect(withHeader({ alg: "HS256", kid: `k${i % 1250}` })).toMatchObject({ header: { kid: `k${i % 1250}` } });
    expect(withHeader({ alg: "none", kid: "k" })).toBe("the header's alg must be HS256");
    expect(withHeader({ alg: "HS256", kid: "k", crit: [] })).toBe("the header must not have crit");
  }
  expect(withHeader({ alg: "HS256", kid: "k".repeat(300) })).toMatchObject({ header: { kid: "k".repeat(300) } });
});

test("a header is only read if it is short: nothing is known of its sender yet", () => {
  const [, payload, signature] = signJws({}, { sub: "ann" }, KEY).split(".");
  const withKid = (chars: number) =>
    parseJws(`${encoded({ alg: "HS256", kid: "k".repeat(chars) })}.${payload}.${signature}`, MAX_CHARS);
  expect(withKid(1000)).toMatchObject({ header: { alg: "HS256" } });
  expect(withKid(2000)).toBe("its header has more than 2048 characters");
});

test("a token is three parts of strict base64url", () => {
  const [head, payload, signature] = signJws({}, { sub: "ann" }, KEY).split(".");
  for (const text of ["", ".", "..", `${head}.${payload}`, `${head}.${payload}.`, `.${payload}.${signature}`])
    expect(parseJws(text, MAX_CHARS)).toBe("it is not three parts of base64url");
  for (const text of [`${head}=.${payload}.${signature}`, `${head}.${payload}.${signature}.`, `${head}.${payload} .x`])
    expect(parseJws(text, MAX_CHARS)).toBe("it is not three parts of base64url");
  expect(parseJws(`${head}.${payload}.${signature}`, 20)).toBe("it is not three parts of base64url");
});

test("the payload is read as strict UTF-8, whatever its length", () => {
  const withPayload = (bytes: Buffer) =>
    payloadOf(parsed(`${encoded({ alg: "HS256" })}.${bytes.toString("base64url")}.AAAA`));
  for (const text of ["{}", "ä€😀", "\ufffd", "\ufeff{}", "x".repeat(5000), "€".repeat(2000), "\ufffd".repeat(2000)])
    expect(withPayload(Buffer.from(text))).toBe(text);
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], Array.from({ length: 5000 }, () => 0x80)])
    expect(withPayload(Buffer.from(bytes))).toBeUndefined();
});

test("every way to write base64url but the strict one is refused", () => {
  const [head, payload, signature] = signJws({}, { sub: "ann" }, KEY).split(".") as [string, string, string];
  const withSignature = (text: string) => parseJws(`${head}.${payload}.${text}`, MAX_CHARS);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (const before of ["", "A", "AA", "AAA", "AAAA"])
    for (const last of `${alphabet}+/= \n.`) {
      const text = before + last;
      const bytes = Buffer.from(text, "base64url");
      const isStrict = bytes.length > 0 && bytes.toString("base64url") === text;
      expect([text, typeof withSignature(text) !== "string"]).toEqual([text, isStrict]);
    }
  expect(isSignedBy(parsed(`${head}.${payload}.${signature}`), KEY)).toBe(true);
  // The same bytes with other spare bits.
  const other = alphabet[alphabet.indexOf(signature.at(-1) ?? "") + 1];
  expect(withSignature(signature.slice(0, -1) + other)).toBe("it is not three parts of base64url");
  for (const text of [signature.slice(0, -1), `${signature}AAAA`, signature.slice(0, 40)])
    if (typeof withSignature(text) !== "string")
      expect(isSignedBy(parsed(`${head}.${payload}.${text}`), KEY)).toBe(false);
});
