/**
 * Whose storage it is. A store has an id, and a storage a mark that names the store it belongs to. Only the store that owns a
 * storage may take a file for a stray: to any other store, all files in it would look like strays.
 *
 * A storage without a mark is claimed when it is empty, or when the store knows nearly all that is in it: that is one from before
 * there were marks. Else it is marked as refused to this store, so that recordings made later do not make it look like its own.
 */
import { STRAYS_SHARE_MAX } from "../protocol/limits.ts";
import type { RecordingStore } from "../store/recordings.ts";
import type { Storage } from "./storage.ts";

/** `foreign`: another store's. `unknown`: it holds files that this store does not know, and says nothing of whose it is. */
export type Standing = "own" | "foreign" | "unknown";

export interface OwnershipParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  /** The id of the store. */
  readonly storeId: () => Promise<string>;
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

export async function settleOwnership({ store, storage, storeId, isAdopted }: OwnershipParts): Promise<Standing> {
  const id = await storeId();
  const text = await storage.readMark();
  const mark = text === undefined ? { owner: null, refused: [] } : parseMark(text);
  if (mark?.owner === id) return "own";
  const claim = async (): Promise<Standing> => {
    await storage.writeMark(formatMark({ owner: id, refused: [] }));
    return "own";
  };
  if (isAdopted) return claim();
  if (!mark || mark.owner !== null) return "foreign";
  if (mark.refused.includes(id)) return "unknown";
  const { total, known } = await countKnown(store, storage);
  if (total === 0 || (known > 0 && total - known <= total * STRAYS_SHARE_MAX)) return claim();
  await storage.writeMark(formatMark({ owner: null, refused: [...mark.refused, id].slice(-REFUSED_MAX) }));
  return "unknown";
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
