/** Which names entries may have. A name becomes a path when a backup is restored, so it must not lead out of the folder, nor be ambiguous. */
import { randomBytes } from "node:crypto";
import { ENTRIES_MAX, MANIFEST_NAME, NAME_MAX_BYTES, SUMS_NAME } from "./format.ts";

/** Why an entry must not have this name, as a clause behind it; undefined: it may. */
export function whyNotName(name: string): string | undefined {
  if (name === "") return "is empty";
  if (!name.isWellFormed()) return "is not Unicode";
  if (Buffer.byteLength(name) > NAME_MAX_BYTES) return `is longer than ${NAME_MAX_BYTES} bytes`;
  // sha256sum writes names with a backslash or a line break in another way.
  if (/[\\\p{Cc}]/u.test(name)) return "has a backslash or a control character";
  if (name.split("/").some((part) => part === "" || part === "." || part === ".."))
    return "is not a path below the folder of the backup";
  return name === MANIFEST_NAME || name === SUMS_NAME ? "is reserved" : undefined;
}

const FIRST_SLOTS = 1024;
const FILL_MAX = 0.75;

/**
 * The names of an archive, to find one that comes twice. There may be millions, so it keeps 64 bits of a hash of each: 11 to 22 bytes per name
 * in all, and half as much again while it grows. Two different names have the same hash once in a billion archives with 100,000 entries; the
 * seed is random, so the next attempt succeeds.
 */
export class NameSet {
  /** Bound: ENTRIES_MAX names; one more is refused. 0 is a free slot. */
  private slots = new BigUint64Array(FIRST_SLOTS);
  private count = 0;
  private readonly seed = randomBytes(8).readBigUInt64LE();

  get isFull(): boolean {
    return this.count >= ENTRIES_MAX;
  }

  /** False if it is there already. */
  add(name: string): boolean {
    if (this.count >= this.slots.length * FILL_MAX) this.grow();
    const isNew = insert(this.slots, Bun.hash.xxHash64(name, this.seed) || 1n);
    if (isNew) this.count++;
    return isNew;
  }

  private grow(): void {
    const larger = new BigUint64Array(this.slots.length * 2);
    for (const hash of this.slots) if (hash !== 0n) insert(larger, hash);
    this.slots = larger;
  }
}

function insert(slots: BigUint64Array, hash: bigint): boolean {
  for (let at = Number(hash % BigInt(slots.length)); ; at = (at + 1) % slots.length) {
    if (slots[at] === hash) return false;
    if (slots[at] !== 0n) continue;
    slots[at] = hash;
    return true;
  }
}
