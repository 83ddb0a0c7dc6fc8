/** Random values in base 36, for epochs and checks: 64 bits, at most 14 characters. */
import { randomBytes } from "node:crypto";

export const randomBase36 = (): string => randomBytes(8).readBigUInt64BE().toString(36);

/**
 * With a letter in front: libraries that do not treat offsets of streams as opaque take digits behind the underscore for a number to count up,
 * as the public server for Yjs does.
 */
export const randomEpoch = (): string => `e${randomBase36()}`;
