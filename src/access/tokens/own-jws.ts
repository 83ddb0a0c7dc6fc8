/**
 * Signed texts that the service makes for itself: JWTs under a key that signs nothing else. All have the same header, and what is signed is what this file
 * has written, so that only the signature has to be checked.
 */
import { timingSafeEqual } from "node:crypto";
import { hmacOf } from "./jws.ts";

const encode = (json: string): string => Buffer.from(json, "utf8").toString("base64url");

const HEAD = `${encode(JSON.stringify({ alg: "HS256", typ: "JWT" }))}.`;

export class OwnJws {
  constructor(private readonly key: Buffer) {}

  sign(claims: object): string {
    const input = HEAD + encode(JSON.stringify(claims));
    return `${input}.${this.signature(input)}`;
  }

  /** The claims; undefined if it is none that was signed here. */
  verify(text: string): unknown {
    const end = text.lastIndexOf(".");
    if (!text.startsWith(HEAD) || end < HEAD.length) return undefined;
    const expected = Buffer.from(this.signature(text.slice(0, end)));
    // As text: a signature that is written in another way is another one.
    const given = Buffer.from(text.slice(end + 1));
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return JSON.parse(Buffer.from(text.slice(HEAD.length, end), "base64url").toString("utf8"));
  }

  private signature(input: string): string {
    return hmacOf(this.key).update(input).digest("base64url");
  }
}
