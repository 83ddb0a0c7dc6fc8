/** Finds the key, and which of its secrets was presented, from `Authorization: Bearer <sk_id>:<sk_secret>`. */
import {
  isLive,
  type Keyring,
  type KnownSecret,
  type SealedKey,
  type SecretKey,
  type SigningSecret,
} from "./keyring.ts";
import { DUMMY_DIGEST, fits } from "./vault.ts";

interface SigningCredential {
  readonly key: SecretKey;
  readonly secret: SigningSecret;
}

interface SealedCredential {
  readonly key: SealedKey;
  readonly secret: KnownSecret;
}

export type Credential = SigningCredential | SealedCredential;

/** Whether the secret is decrypted, so that it can sign. */
export const canSign = (credential: Credential): credential is SigningCredential => credential.key.type === "secret";

/** A rotated secret in its grace period may only mint tokens. */
export const isPrevious = (credential: Credential): boolean => credential.secret.ends !== null;

export const bearer = (header: string | null): string | undefined => header?.match(/^Bearer +(\S+) *$/i)?.[1];

/** All failures have the same result and take the same time, so that they do not reveal which ids exist. */
export function authenticate(header: string | null, keyring: Keyring, nowMs: number): Credential | undefined {
  const text = bearer(header);
  const colon = text?.indexOf(":") ?? -1;
  if (text === undefined || colon < 0) return undefined;
  const key = keyring.key(text.slice(0, colon));
  const presented = text.slice(colon + 1);
  if (!key || key.type === "publishable") {
    fits(presented, DUMMY_DIGEST);
    return undefined;
  }
  const find = <S extends KnownSecret>(secrets: readonly S[]): S | undefined =>
    secrets.find((secret) => isLive(secret, nowMs) && fits(presented, secret.digest));
  if (key.type === "secret") {
    const secret = find(key.secrets);
    return secret && { key, secret };
  }
  const secret = find(key.secrets);
  return secret && { key, secret };
}
