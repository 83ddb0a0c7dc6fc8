/**
 * What a store knows about itself.
 *
 * The id of a store: created once, and part of every copy and backup. Storages of recordings are marked with it, and the store remembers that
 * it has marked one: a storage without a mark is then not a new one, but perhaps a volume that is not mounted.
 */
import { randomUUID } from "node:crypto";
import type { Store } from "./contract/store.ts";

/** The note of the version that was last started on a store. 0.1.0 wrote none. */
export const VERSION_NOTE = "version";
const STORE_ID = "store_id";
const STORAGE_MARKED = "storage_marked";

export async function storeId(store: Pick<Store, "meta" | "change">): Promise<string> {
  // Changes run one at a time, also between nodes: when several start at once, one creates the id.
  return (
    (await store.meta(STORE_ID)) ?? store.change(async (change) => (await change.meta(STORE_ID)) ?? create(change))
  );
}

async function create(change: { putMeta(name: string, value: string): Promise<void> }): Promise<string> {
  const id = randomUUID();
  await change.putMeta(STORE_ID, id);
  return id;
}

export const hasMarkedStorage = async (store: Pick<Store, "meta">): Promise<boolean> =>
  (await store.meta(STORAGE_MARKED)) !== undefined;

export const noteMarkedStorage = (store: Pick<Store, "change">): Promise<void> =>
  store.change((change) => change.putMeta(STORAGE_MARKED, "yes"));

/** Notes the version of a server that starts. Of several that run together, it is the one that was started last. */
export async function noteVersion(store: Pick<Store, "meta" | "change">, version: string): Promise<void> {
  if ((await store.meta(VERSION_NOTE)) !== version)
    await store.change((change) => change.putMeta(VERSION_NOTE, version));
}
