/** Connect tokens signed here, as a customer's backend would: the server under measurement only verifies. */
import { createHmac } from "node:crypto";

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export interface Identity {
  readonly peerId: string;
  readonly peerMetadata: object;
  readonly lifeSeconds: number;
  /** Default: all actions of the key. */
  readonly permissions?: readonly string[];
}

/** `secretKey` is `<sk_id>:<sk_secret>`, as the first start shows it. */
export function connectToken(secretKey: string, { peerId, peerMetadata, lifeSeconds, permissions }: Identity): string {
  const [kid, secret = ""] = secretKey.split(":");
  const iat = Math.floor(Date.now() / 1000);
  const claims = { sub: peerId, iat, exp: iat + lifeSeconds, peerMetadata, permissions };
  const input = `${part({ alg: "HS256", typ: "JWT", kid })}.${part(claims)}`;
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}
