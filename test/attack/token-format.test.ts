/** Tokens with an invalid header or encoding: each refused, with the right code (protocol.md 1, checks 7 to 11). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mintToken } from "../support/admin.ts";
import { encodePart, signature } from "../support/jwt.ts";
import { forgeryForTests } from "./support/forgery.ts";

setDefaultTimeout(60_000);

const { server, admin, key, other, header, claims, signed, withHeader, expectInvalid } = await forgeryForTests();

describe("refused for the header", () => {
  test.each<{ typ: unknown }>([
    { typ: "JWE" },
    { typ: "" },
    { typ: "JWT " },
    { typ: 1 },
    { typ: null },
    { typ: ["JWT"] },
  ])("%j", async (typ) => {
    await expectInvalid(withHeader(typ));
  });

  test.each<object>([{ crit: ["exp"] }, { crit: [] }, { crit: null }, { crit: ["b64"], b64: false }])(
    "%j",
    async (crit) => {
      await expectInvalid(withHeader(crit));
    },
  );

  test("a duplicate key", async () => {
    const { keyId } = key;
    for (const text of [
      `{"alg":"HS256","kid":"${keyId}","kid":"${keyId}"}`,
      `{"alg":"none","alg":"HS256","kid":"${keyId}"}`,
      `{"alg":"HS256","alg":"none","kid":"${keyId}"}`,
      `{"alg":"HS256","kid":"${other.keyId}","k\\u0069d":"${keyId}"}`,
    ])
      await expectInvalid(signed(text, claims()));
  });

  test("a header that is no JSON object", async () => {
    for (const text of ["[]", "null", '"HS256"', "{", "1", `{"alg":"HS256","kid":"${key.keyId}"} x`])
      await expectInvalid(signed(text, claims()));
    await expectInvalid(signed(Buffer.from(`{"alg":"HS256","kid":"${key.keyId}","x":"\xff"}`, "latin1"), claims()));
  });
});

describe("each token has exactly one encoding", () => {
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  /** Texts that decode to the same bytes, but set bits that base64 does not use. */
  function strayBits(text: string): string[] {
    const spare = text.length % 4 === 3 ? 2 : text.length % 4 === 2 ? 4 : 0;
    const last = ALPHABET.indexOf(text.at(-1) ?? "");
    return Array.from({ length: (1 << spare) - 1 }, (_, i) => text.slice(0, -1) + ALPHABET[last + i + 1]);
  }

  /** Signed over the text as given: the signature is valid, only the encoding is not. */
  const spelt = (h: string, p: string): string => `${h}.${p}.${signature(`${h}.${p}`, key.secret)}`;
  /** A header and a payload whose lengths leave unused bits. */
  const padded = (part: object): string => {
    for (let pad = ""; ; pad += "x") {
      const text = encodePart({ ...part, pad });
      if (text.length % 4 !== 0) return text;
    }
  };

  test("unused bits set after the last byte of any part are refused", async () => {
    const [h, p] = [padded(header()), padded(claims())];
    const good = spelt(h, p);
    expect((await admin.check(good)).valid).toBe(true);
    const s = good.slice(good.lastIndexOf(".") + 1);
    const variants = [
      ...strayBits(h).map((other) => spelt(other, p)),
      ...strayBits(p).map((other) => spelt(h, other)),
      ...strayBits(s).map((other) => `${h}.${p}.${other}`),
    ];
    expect(variants.length).toBeGreaterThanOrEqual(9);
    for (const variant of variants) await expectInvalid(variant);
  });

  test("padding, the other alphabet, white space and line ends are refused", async () => {
    const [h, p] = [padded(header({ x: "???>>>" })), padded(claims())];
    const good = spelt(h, p);
    expect((await admin.check(good)).valid).toBe(true);
    expect(h).toMatch(/[-_]/);
    const pad = (text: string): string => text.padEnd(Math.ceil(text.length / 4) * 4, "=");
    const s = good.slice(good.lastIndexOf(".") + 1);
    for (const variant of [
      spelt(pad(h), p),
      spelt(h, pad(p)),
      `${h}.${p}.${pad(s)}`,
      spelt(h.replaceAll("-", "+").replaceAll("_", "/"), p),
      spelt(`${h}\n`, p),
      spelt(h, ` ${p}`),
      spelt(h, `${p.slice(0, 9)} ${p.slice(9)}`),
      spelt(h, `${p}%3D`),
      ` ${good}`,
      `${good} `,
      `${good}\r\n`,
      `\ufeff${good}`,
      `${good}\u0000`,
      good.replace(".", "%2E"),
      `Bearer ${good}`,
    ])
      await expectInvalid(variant);
  });

  test("more parts, fewer parts and empty parts are refused", async () => {
    const good = signed(header(), claims());
    const [h, p, s] = good.split(".");
    for (const variant of [
      `${good}.`,
      `.${good}`,
      `${good}.${s}`,
      `${h}.${h}.${p}.${s}`,
      `${h}.${p}`,
      `${h}..${s}`,
      `.${p}.${s}`,
      `${h}.${p}.`,
      "..",
      ".",
      "x",
      JSON.stringify({ protected: h, payload: p, signature: s }),
    ])
      await expectInvalid(variant);
  });

  test("a truncated, extended or reversed signature is refused", async () => {
    const good = signed(header(), claims());
    const at = good.lastIndexOf(".") + 1;
    const bytes = Buffer.from(good.slice(at), "base64url");
    for (const wrong of [
      bytes.subarray(0, 31),
      Buffer.concat([bytes, bytes]),
      Buffer.concat([bytes, Buffer.from([0])]),
      Buffer.from(bytes).reverse(),
      Buffer.alloc(32),
      bytes.subarray(0, 1),
    ])
      await expectInvalid(good.slice(0, at) + wrong.toString("base64url"));
  });

  test("a change of any single character is refused", async () => {
    const good = await mintToken(server.url, key.credential);
    const accepted: number[] = [];
    for (let i = 0; i < good.length; i++) {
      const changed = good[i] === "A" ? "B" : "A";
      const { valid } = await admin.check(good.slice(0, i) + changed + good.slice(i + 1));
      if (valid) accepted.push(i);
    }
    expect(accepted).toEqual([]);
    expect((await admin.check(good)).valid).toBe(true);
  });
});
