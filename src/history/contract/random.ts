/** Random values in base 36, for epochs and checks: 64 bits, at most 13 characters. */
import { randomBytes } from "node:crypto";

export const randomBase36 = (): string => randomBytes(8).readBigUInt64BE().toString(36);
