/**
 * Encrypts secrets at rest: AES-256-GCM under the master key, with the row's identity as associated data, so that a sealed value
 * moved to another row does not open. Keys for other uses are derived from the master key, with one label per use.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AppId } from "../../base/ids.ts";
import { writePrivateFile } from "../../base/private-file.ts";
import { StoreError } from "../../store/contract/store.ts";
import { MASTER_KEY_BYTES } from "../limits.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = "v1.";

export class Vault {
  private readonly sealKey: Buffer;

  constructor(private readonly master: Buffer) {
    this.sealKey = this.derive("secrets at rest");
  }

  /** A key for one use. The label is part of the stored format: values made under another label cannot be read. */
  derive(label: string): Buffer {
    return Buffer.from(hkdfSync("sha256", this.master, "", `parley ${label}`, 32));
  }

  seal(secret: string, identity: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.sealKey, nonce).setAAD(Buffer.from(identity));
    const body = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return VERSION + Buffer.concat([nonce, body, cipher.getAuthTag()]).toString("base64");
  }

  /** undefined if it was encrypted with another master key, tampered with, or moved to another row. */
  open(sealed: string, identity: string): string | undefined {
    if (!sealed.startsWith(VERSION)) return undefined;
    const bytes = Buffer.from(sealed.slice(VERSION.length), "base64");
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.sealKey, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(identity))
        .setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    } catch {
      return undefined;
    }
  }
}

/** The associated data that a sealed value is bound to. */
export const keySecretIdentity = (keyId: string, seq: number): string => `key_secret ${keyId} ${seq}`;
export const appSecretIdentity = (appId: AppId): string => `app_secret ${appId}`;

export const digestOf = (secret: string): string => Bun.SHA256.hash(secret, "hex");

/** Whether a presented secret has that digest, in constant time. */
export const fits = (presented: string, digestHex: string): boolean => indexOfMatch(presented, [digestHex]) === 0;

/** The index of the matching digest, or -1; the time does not depend on which one matches. */
export function indexOfMatch(presented: string, digestsHex: readonly string[]): number {
  const digest = createHash("sha256").update(presented, "utf8").digest();
  let found = -1;
  for (let i = 0; i < digestsHex.length; i++)
    if (timingSafeEqual(digest, Buffer.from(digestsHex[i] ?? "", "hex"))) found = i;
  return found;
}

/** Secrets of unknown ids are compared with this, so that they take as long as known ones. */
export const DUMMY_DIGEST = digestOf(randomBytes(32).toString("hex"));

export const masterKeyFile = (dataFolder: string): string => join(dataFolder, "master.key");

/** The key in the data folder, or undefined if there is none yet. */
export function readMasterKey(dataFolder: string): Buffer | undefined {
  const path = masterKeyFile(dataFolder);
  if (!existsSync(path)) return undefined;
  const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
  if (key.length !== MASTER_KEY_BYTES)
    throw new StoreError(`${path} must contain base64 of ${MASTER_KEY_BYTES} bytes; restore it from your copy`);
  return key;
}

/** Writes a new key and flushes it to disk before anything is sealed with it. */
export function makeMasterKey(dataFolder: string): Buffer {
  const key = randomBytes(MASTER_KEY_BYTES);
  const path = masterKeyFile(dataFolder);
  writePrivateFile(path, `${key.toString("base64")}\n`, { flush: true });
  const folder = openSync(dataFolder, "r");
  fsyncSync(folder);
  closeSync(folder);
  return key;
}
