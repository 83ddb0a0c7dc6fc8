/**
 * Every credential that the service makes or accepts. SECURITY.md has a row for each (test/docs/security.test.ts), and the attack suite uses
 * each once and looks for it everywhere (test/attack/credentials.test.ts). Entropy and lifetime are those of the code.
 */
import {
  newAdminToken,
  newAppSecret,
  newOperatorToken,
  newPublishableId,
  newSessionSecret,
  newSigningSecret,
} from "../../src/access/keys/ids.ts";
import {
  ADMIN_TOKEN_MIN_CHARS,
  MASTER_KEY_BYTES,
  SESSION_SECONDS,
  TOKEN_MAX_SECONDS,
  TURN_SECRET_MIN_CHARS,
} from "../../src/access/limits.ts";
import { anAppId } from "../../src/base/testing/ids.ts";
import {
  CONNECT_TOKEN_MAX_SEC,
  HOST_LINK_SEC,
  TURN_CREDENTIAL_MAX_SEC,
  WAIT_MAX_SEC,
} from "../../src/meetings/contract/limits.ts";
import { newTicket } from "../../src/meetings/entrance/tickets.ts";
import { credentialOf } from "../../src/meetings/turn/turn.ts";
import { HOST_LINK_MAX_SEC } from "../../src/protocol/limits.ts";
import { LINK_MAX_SECONDS, UPLOAD_ABANDONED_MS } from "../../src/recordings/budgets/limits.ts";
import { Links } from "../../src/recordings/files/links.ts";
import { SECRET_BYTES } from "../../src/webhooks/limits.ts";

export interface Credential {
  readonly name: string;
  /** What the column "entropy" of the table begins with. */
  readonly entropy: string;
  /** Is part of the column "lifetime". */
  readonly lives: string;
  /** It may be seen by everyone. */
  readonly isPublic?: true;
  /** The setting that it comes from: the service makes none. */
  readonly setting?: string;
}

const randomBits = (bytes: number): string => `${bytes * 8} random bits`;
/** How many of a secret in base64url are random: its prefix is not. */
const ofText = (secret: string): string =>
  randomBits(Buffer.from(secret.replace(/^(sk_secret|op|parley_admin)_/, ""), "base64url").length);
const ofHex = (id: string): string => randomBits(Buffer.from(id.replace("pk_live_", ""), "hex").length);
const signatureOf = (text: string, encoding: "base64" | "base64url" = "base64url"): string =>
  `a signature of ${Buffer.from(text, encoding).length * 8} bits`;

const hours = (seconds: number): string => `${seconds / 3600} h`;
const minutes = (seconds: number): string => `${seconds / 60} min`;
const days = (seconds: number): string => `${seconds / 86_400} days`;

const HMAC_SHA256 = signatureOf(new Links(Buffer.alloc(32)).uploadProof(anAppId(""), ""));

export const CREDENTIALS: readonly Credential[] = [
  {
    name: "admin token",
    entropy: `${ofText(newAdminToken())}; at least ${ADMIN_TOKEN_MIN_CHARS} characters if you choose it`,
    lives: "until it is replaced",
  },
  {
    name: "operator token",
    entropy: ofText(newOperatorToken()),
    lives: "until it is revoked",
  },
  { name: "dashboard session", entropy: ofText(newSessionSecret()), lives: hours(SESSION_SECONDS) },
  {
    name: "secret key",
    entropy: ofText(newSigningSecret()),
    lives: "until it is rotated or revoked",
  },
  { name: "publishable key", entropy: ofHex(newPublishableId()), lives: "until it is revoked", isPublic: true },
  { name: "application secret", entropy: ofText(newAppSecret()), lives: "until it is rotated" },
  { name: "connect token", entropy: HMAC_SHA256, lives: hours(TOKEN_MAX_SECONDS) },
  { name: "access token", entropy: HMAC_SHA256, lives: "expireUnixSec" },
  {
    name: "host link",
    entropy: HMAC_SHA256,
    lives: `${minutes(HOST_LINK_SEC)} to enter, or as requested, at most ${days(HOST_LINK_MAX_SEC)}`,
  },
  { name: "stay token", entropy: HMAC_SHA256, lives: hours(CONNECT_TOKEN_MAX_SEC) },
  { name: "lobby token", entropy: HMAC_SHA256, lives: minutes(WAIT_MAX_SEC) },
  { name: "lobby ticket", entropy: ofHex(newTicket(1).replace(/\..*/, "")), lives: minutes(WAIT_MAX_SEC) },
  { name: "session over HTTP", entropy: HMAC_SHA256, lives: "as long as the connection" },
  { name: "upload address", entropy: HMAC_SHA256, lives: hours(UPLOAD_ABANDONED_MS / 1000) },
  { name: "recording link", entropy: HMAC_SHA256, lives: hours(LINK_MAX_SECONDS) },
  {
    name: "signed bucket address",
    entropy: HMAC_SHA256,
    lives: hours(LINK_MAX_SECONDS),
  },
  {
    name: "TURN credential",
    entropy: signatureOf(credentialOf("secret", "name", 0).credential, "base64"),
    lives: days(TURN_CREDENTIAL_MAX_SEC),
  },
  { name: "webhook secret", entropy: randomBits(SECRET_BYTES), lives: "until it is rotated" },
  { name: "TURN API key", entropy: HMAC_SHA256, lives: "expiryInSeconds" },
  {
    name: "master key",
    entropy: randomBits(MASTER_KEY_BYTES),
    lives: "as long as the data",
    setting: "PARLEY_MASTER_KEY",
  },
  {
    name: "TURN secret",
    entropy: `yours, at least ${TURN_SECRET_MIN_CHARS} characters`,
    lives: "until you change it",
    setting: "PARLEY_TURN_SECRET",
  },
  {
    name: "backup key",
    entropy: randomBits(MASTER_KEY_BYTES),
    lives: "as long as the backups that it encrypts",
    setting: "PARLEY_BACKUP_KEY",
  },
  // It opens everything at once, also where nothing has to be opened with a key.
  { name: "backup file", entropy: "none", lives: "PARLEY_BACKUP_KEEP" },
  { name: "bucket key", entropy: "yours", lives: "until you change it", setting: "PARLEY_STORAGE_URL" },
  { name: "database password", entropy: "yours", lives: "until you change it", setting: "PARLEY_DATABASE_URL" },
  { name: "NATS credential", entropy: "yours", lives: "until you change it", setting: "PARLEY_NATS_URL" },
  { name: "TLS private key", entropy: "yours", lives: "until you change it", setting: "PARLEY_TLS_KEY" },
];

/** Credentials whose signature is made with a key that is derived from the master key, by the label of that key. */
export const DERIVED_KEYS: Readonly<Record<string, string | undefined>> = {
  "access tokens of": "access token",
  "API keys of TURN credentials": "TURN API key",
  "connect tokens of rooms": "stay token",
  "links to recordings": "recording link",
  "sessions of connections over HTTP": "session over HTTP",
  "webhooks of rooms: secret": "webhook secret",
  // A name: it opens nothing.
  "webhooks of rooms: id": undefined,
  // Neither is a credential: one encrypts, and the other compares.
  "secrets at rest": undefined,
  "sessions of the admin token": undefined,
};

/** Makers of random values in src/access/keys/ids.ts, and what they make. */
export const MADE_BY: Readonly<Record<string, string | undefined>> = {
  newAdminToken: "admin token",
  newAppSecret: "application secret",
  newOperatorToken: "operator token",
  newPublishableId: "publishable key",
  newSessionSecret: "dashboard session",
  newSigningSecret: "secret key",
  // Names, which open nothing.
  newObjectId: undefined,
  newSecretId: undefined,
};
