/**
 * Names of connections over HTTP: with one, a client sends the frames of its connection. Any node checks the signature, and the name says which
 * node holds the connection. It is a credential: a client that has it can send as that peer.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Vault } from "../keys/vault.ts";
import { hmacOf } from "./jws.ts";

const PREFIX = "es_";
const RANDOM_BYTES = 16;
/** Longer than any name that is made here. */
const MAX_CHARS = 300;
const FORM = /^es_([\w-]{1,128})\.([0-9a-z]{1,11})\.([\w-]{22})\.([\w-]{43})$/;

/** A name whose signature is valid: a node has made it. Whether the connection still exists, only that node knows. */
export interface EventSession {
  readonly text: string;
  readonly node: string;
  /** The connection has it, among those over HTTP of that node. */
  readonly number: number;
}

export class EventSessionNames {
  private readonly key: Buffer;

  constructor(vault: Pick<Vault, "derive">) {
    this.key = vault.derive("sessions of connections over HTTP");
  }

  make(node: string, number: number): string {
    const signed = `${PREFIX}${node}.${number.toString(36)}.${randomBytes(RANDOM_BYTES).toString("base64url")}`;
    return `${signed}.${this.signature(signed)}`;
  }

  /** undefined if it is none that a node of this service has made. */
  read(text: string): EventSession | undefined {
    if (text.length > MAX_CHARS) return undefined;
    const [, node, number, , signature] = FORM.exec(text) ?? [];
    if (node === undefined || number === undefined || signature === undefined) return undefined;
    const expected = this.signature(text.slice(0, -signature.length - 1));
    return isSame(signature, expected) ? { text, node, number: Number.parseInt(number, 36) } : undefined;
  }

  private signature(signed: string): string {
    return hmacOf(this.key).update(signed).digest("base64url");
  }
}

/** In constant time for texts of one length. */
export function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
