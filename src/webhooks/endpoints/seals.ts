/** What endpoints keep secret, in the store and in memory: the secrets they sign with, and the values of their extra headers. */
import { randomBytes } from "node:crypto";
import type { Vault } from "../../access/keys/vault.ts";
import type { WebhookRow, WebhookSecretRow } from "../../store/contract/webhooks.ts";
import { SECRET_BYTES } from "../limits.ts";

const SECRET_PREFIX = "whsec_";

export type Headers = Readonly<Record<string, string>>;

/** As Standard Webhooks writes secrets. */
export const secretText = (key: Buffer): string => SECRET_PREFIX + key.toString("base64");
export const newSecretKey = (): Buffer => randomBytes(SECRET_BYTES);

const secretIdentity = (webhook: string, seq: number): string => `webhook_secret ${webhook} ${seq}`;
const headersIdentity = (webhook: string): string => `webhook_headers ${webhook}`;

export const sealSecret = (vault: Vault, webhook: string, seq: number, key: Buffer): string =>
  vault.seal(secretText(key), secretIdentity(webhook, seq));

/** undefined: the master key does not open it. */
export function openSecret(vault: Vault, { webhook, seq, sealed }: WebhookSecretRow): Buffer | undefined {
  const text = vault.open(sealed, secretIdentity(webhook, seq));
  return text === undefined ? undefined : Buffer.from(text.slice(SECRET_PREFIX.length), "base64");
}

/** null: there are none. */
export const sealHeaders = (vault: Vault, webhook: string, headers: Headers): string | null =>
  Object.keys(headers).length === 0 ? null : vault.seal(JSON.stringify(headers), headersIdentity(webhook));

/** undefined: the master key does not open them. */
export function openHeaders(vault: Vault, { id, headersSealed }: WebhookRow): Headers | undefined {
  if (headersSealed === null) return {};
  const text = vault.open(headersSealed, headersIdentity(id));
  return text === undefined ? undefined : (JSON.parse(text) as Headers);
}
