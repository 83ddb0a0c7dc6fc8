/** For tests of tokens: a keyring with a key in each state, and tokens made from raw parts. */
import { createHmac } from "node:crypto";
import { anAppId } from "../../base/testing/ids.ts";
import type { KeyRow, SecretRow } from "../../store/contract/store.ts";
import { keyRow } from "../../store/testing/rows.ts";
import { Keyring } from "../keys/keyring.ts";
import { digestOf, keySecretIdentity, Vault } from "../keys/vault.ts";
import { type VerifiedToken, verifyToken } from "../tokens/token.ts";
import { TokenRefusal } from "../tokens/token-refusal.ts";

export const NOW_S = 1_800_000_000;
export const NOW = NOW_S * 1000 + 500;
export const KEY = `sk_id_${"a".repeat(32)}`;
export const OTHER_KEY = `sk_id_${"b".repeat(32)}`;
export const PUBLISHABLE_KEY = `pk_live_${"c".repeat(32)}`;
/** The master key does not open its secret. */
export const SEALED_KEY = `sk_id_${"d".repeat(32)}`;
export const SECRETS = {
  current: "sk_secret_current",
  grace: "sk_secret_grace",
  retired: "sk_secret_retired",
  other: "sk_secret_other",
};
export const GRACE_ENDS = NOW + 10_000;

const vault = new Vault(Buffer.alloc(32, 7));

const keyOf = (id: string, more: Partial<KeyRow> = {}): KeyRow =>
  keyRow(id, { app: anAppId("app"), channelPatterns: ["chat/*", "news"], ...more });
const secretRow = (keyId: string, seq: number, secret: string, ends: number | null): SecretRow => ({
  keyId,
  seq,
  sealed: vault.seal(secret, keySecretIdentity(keyId, seq)),
  digest: digestOf(secret),
  created: 0,
  ends,
});

export const keyring = new Keyring(vault);
keyring.load({
  revision: 1,
  apps: [],
  keys: [
    keyOf(KEY),
    keyOf(OTHER_KEY, { app: anAppId("other app") }),
    keyOf(PUBLISHABLE_KEY, { type: "publishable", allowedOrigins: ["*"] }),
    keyOf(SEALED_KEY),
  ],
  secrets: [
    secretRow(KEY, 3, SECRETS.current, null),
    secretRow(KEY, 2, SECRETS.grace, GRACE_ENDS),
    secretRow(KEY, 1, SECRETS.retired, NOW - 1),
    secretRow(OTHER_KEY, 1, SECRETS.other, null),
    { ...secretRow(SEALED_KEY, 1, "x", null), sealed: new Vault(Buffer.alloc(32, 8)).seal("x", "anything") },
  ],
});

export const base64urlOf = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

export interface TokenParts {
  header?: unknown;
  claims?: unknown;
  secret?: string;
  hash?: string;
}

/** A token from raw parts; strings are taken as they are, so that broken JSON can be signed properly. */
export function token({
  header = {},
  claims = {},
  secret = SECRETS.current,
  hash = "sha256",
}: TokenParts = {}): string {
  const head = typeof header === "object" ? { alg: "HS256", typ: "JWT", kid: KEY, ...header } : header;
  const body = typeof claims === "object" ? { sub: "alice", exp: NOW_S + 3600, ...claims } : claims;
  const input = `${base64urlOf(head)}.${base64urlOf(body)}`;
  return `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`;
}

/** The code of the refusal, or "ok". */
export const verdict = (text: string, nowMs = NOW): string => {
  const result = verifyToken(text, keyring, nowMs);
  return result instanceof TokenRefusal ? result.code : "ok";
};

export const verified = (parts: TokenParts): VerifiedToken => {
  const result = verifyToken(token(parts), keyring, NOW);
  if (result instanceof TokenRefusal) throw new Error(result.reason);
  return result;
};
