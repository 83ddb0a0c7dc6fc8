/**
 * Which store a storage belongs to. A store has an id, and a storage has a mark that names its store. Only the store that owns a
 * storage may treat files as strays: to any other store, every file in it would look like one.
 *
 * A storage without a mark is claimed if it is empty, or if the store knows nearly all its files, as in a storage from before marks
 * existed. Otherwise the mark notes that it was refused to this store, so that recordings made later do not make it look like its own.
 *
 * A store that has marked a storage before, or that has recordings, does not claim an empty storage without a mark: its own storage is
 * missing, for example because a volume is not mounted. Nothing is written or removed then: files written now would be hidden
 * behind the volume once it is mounted, and removed files would be back.
 */
import { Problem } from "../../protocol/codes.ts";
import type { RecordingStore } from "../../store/contract/recordings.ts";
import { STRAYS_SHARE_MAX } from "../budgets/limits.ts";
import type { Storage } from "./storage.ts";

/**
 * `foreign`: it belongs to another store. `unknown`: it has no owner, and files that this store does not know. `missing`: it is empty,
 * although this store has used a storage before.
 */
export type Standing = "own" | "foreign" | "unknown" | "missing";

interface OwnershipParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  /** The id of the store. */
  readonly storeId: () => Promise<string>;
  /** Whether the store has marked a storage before. */
  readonly hasMarked: () => Promise<boolean>;
  readonly noteMarked: () => Promise<void>;
  /** The operator has declared that the storage belongs to this store. */
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
  private isPresent = false;

  constructor(private readonly parts: OwnershipParts) {}

  /** Throws the problem to answer with if the storage is missing. `isFresh`: as in `isMissing`, for a caller that finds no bytes where some may have been. */
  async requirePresent(isFresh = false): Promise<void> {
    if (await this.isMissing(isFresh))
      throw new Problem(
        "insufficient_storage",
        "The storage of recordings is missing at the moment: nothing can be written to it.",
      );
  }

  /** A storage that was present once is not checked again until a sweep asks with `isFresh`: uploads ask too often for that. */
  async isMissing(isFresh = false): Promise<boolean> {
    if (isFresh || !this.isPresent) this.isPresent = !(await this.findsMissing());
    return !this.isPresent;
  }

  private async findsMissing(): Promise<boolean> {
    const { store, storage, hasMarked, isAdopted } = this.parts;
    if (isAdopted) return false;
    // The store is read first: a node that starts at the same time writes the mark before it notes that in the store.
    const isUsed = (await hasMarked()) || (await store.hasRecordings());
    if (!isUsed || (await storage.readMark()) !== undefined) return false;
    for await (const _ of storage.contents()) return false;
    return true;
  }

  async determine(): Promise<Standing> {
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

/** Marks a new storage as that of a store. */
export const markNew = (storage: Pick<Storage, "writeMark">, storeId: string): Promise<void> =>
  storage.writeMark(formatMark({ owner: storeId, refused: [] }));

const formatMark = (mark: Mark): string => `${JSON.stringify({ about: ABOUT, ...mark }, null, 2)}\n`;

/** undefined: it cannot be read, and the storage may belong to any store. */
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
