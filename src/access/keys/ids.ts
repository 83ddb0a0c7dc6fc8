/** Identifiers and secrets, all from the system's secure random generator. */
import { randomBytes } from "node:crypto";

const hex = (bytes: number): string => randomBytes(bytes).toString("hex");
const urlSafe = (characters: number): string => randomBytes((characters * 3) / 4).toString("base64url");

const PUBLISHABLE_PREFIX = "pk_live_";
const SECRET_ID_PREFIX = "sk_id_";
const SECRET_PREFIX = "sk_secret_";

export const newPublishableId = (): string => PUBLISHABLE_PREFIX + hex(16);
export const newSecretId = (): string => SECRET_ID_PREFIX + hex(16);
export const newSigningSecret = (): string => SECRET_PREFIX + urlSafe(48);
export const newAppSecret = (): string => urlSafe(48);
/** The secret of a session of the dashboard, which its cookie carries. */
export const newSessionSecret = (): string => urlSafe(48);
export const newOperatorToken = (): string => `op_${urlSafe(48)}`;
export const newAdminToken = (): string => `parley_admin_${urlSafe(48)}`;

let lastMs = 0;
let tail = 0;

/** 24 hex digits: 6 bytes of milliseconds, then 6 random bytes. Ids made in the same millisecond are ascending too. */
export function newObjectId(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // The top bit stays clear, so that counting up within a millisecond cannot overflow.
    tail = Math.floor(randomBytes(6).readUIntBE(0, 6) / 2);
  } else tail += 1;
  return lastMs.toString(16).padStart(12, "0") + tail.toString(16).padStart(12, "0");
}
