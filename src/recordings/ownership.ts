/**
 * Whose storage it is. A store has an id, and a storage a mark that names the store it belongs to. Only the store that owns a
 * storage may take a file for a stray: to any other store, all files in it would look like strays.
 *
 * A storage without a mark is claimed when it is empty, or when the store knows nearly all that is in it: that is one from before
 * there were marks. Else it is marked as refused to this store, so that recordings made later do not make it look like its own.
 *
 * An empty storage without a mark is not claimed by a store that has marked a storage before, or has recordings: its own is missing,
 * perhaps a volume that is not mounted. What is written there would disappear behind the volume when that is mounted again, and what
 * is removed would come back, so nothing is.
 */
import { Problem } from "../protocol/codes.ts";
import type { RecordingStore } from "../store/recordings.ts";
import { STRAYS_SHARE_MAX } from "./limits.ts";
import type { Storage } from "./storage.ts";

/** `foreign`: another store's. `unknown`: it holds files that this store does not know, and says nothing of whose it is. `missing`:
 * it is empty, and this store's recordings must be elsewhere. */
export type Standing = "own" | "foreign" | "unknown" | "missing";

export interface OwnershipParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  /** The id of the store. */
  readonly storeId: () => Promise<string>;
  /** Whether the store has marked a storage before. */
  readonly hasMarked: () => Promise<boolean>;
  readonly noteMarked: () => Promise<void>;
  /** The operator says that it is ours. */
  readonly isAdopted: boolean;
}

interface Mark {
  readonly owner: string | null;
  /** Bound: the last REFUSED_MAX. */
  readonly refused: readonly string[];
}

const ABOUT =
  "This file says which Parley store the files here belong to. Do not copy it to another storage, and do not remove it.";
const REFUSED_MAX = 20;
const IDS_AT_ONCE = 200;

export class Ownership {
  private isThere = false;

  constructor(private readonly parts: OwnershipParts) {}

  /** Throws the refusal of whoever wants to write to a storage that is missing. */
  async mustBeThere(): Promise<void> {
    if (await this.isMissing())
      throw new Problem(
        "insufficient_storage",
        "The storage of recordings is missing at the moment: nothing can be written to it.",
      );
  }

  /** Once it was there, that is believed until `isFresh` asks: uploads ask often, and a sweep every hour. */
  async isMissing(isFresh = false): Promise<boolean> {
    if (isFresh || !this.isThere) this.isThere = !(await this.looksMissing());
    return !this.isThere;
  }

  private async looksMissing(): Promise<boolean> {
    const { store, storage, hasMarked, isAdopted } = this.parts;
    if (isAdopted) return false;
    // The store first: a node that starts at the same time writes the mark, and notes it then.
    const isUsed = (await hasMarked()) || (await store.hasRecordings());
    if (!isUsed || (await storage.readMark()) !== undefined) return false;
    for await (const _ of storage.contents()) return false;
    return true;
  }

  async settle(): Promise<Standing> {
    if (await this.isMissing(true)) return "missing";
    const { store, storage, storeId, isAdopted } = this.parts;
    const id = await storeId();
    const text = await storage.readMark();
    const mark = text === undefined ? { owner: null, refused: [] } : parseMark(text);
    if (mark?.owner === id) return this.own();
    const claim = async (): Promise<Standing> => {
      await storage.writeMark(formatMark({ owner: id, refused: [] }));
      return this.own();
    };
    if (isAdopted) return claim();
    if (!mark || mark.owner !== null) return "foreign";
    if (mark.refused.includes(id)) return "unknown";
    const { total, known } = await countKnown(store, storage);
    if (total === 0 || (known > 0 && total - known <= total * STRAYS_SHARE_MAX)) return claim();
    await storage.writeMark(formatMark({ owner: null, refused: [...mark.refused, id].slice(-REFUSED_MAX) }));
    return "unknown";
  }

  private async own(): Promise<Standing> {
    const { hasMarked, noteMarked } = this.parts;
    if (!(await hasMarked())) await noteMarked();
    return "own";
  }
}

async function countKnown(store: RecordingStore, storage: Storage): Promise<{ total: number; known: number }> {
  let [total, known] = [0, 0];
  let ids: string[] = [];
  const count = async (): Promise<void> => {
    const found = await store.knownIds(ids);
    total += ids.length;
    known += ids.filter((id) => found.has(id)).length;
    ids = [];
  };
  for await (const { place } of storage.contents()) {
    ids.push(place.id);
    if (ids.length === IDS_AT_ONCE) await count();
  }
  await count();
  return { total, known };
}

const formatMark = (mark: Mark): string => `${JSON.stringify({ about: ABOUT, ...mark }, null, 2)}\n`;

/** undefined: it cannot be read. Then it may be anybody's. */
function parseMark(text: string): Mark | undefined {
  try {
    const { owner, refused } = JSON.parse(text) as Partial<Mark>;
    const isMark =
      (owner === null || typeof owner === "string") &&
      Array.isArray(refused) &&
      refused.every((one) => typeof one === "string");
    return isMark ? { owner, refused } : undefined;
  } catch {
    return undefined;
  }
}
