/**
 * The id of a store: made once, and part of every copy and backup of it. Storages are marked with it, and the store keeps that it has
 * marked one: a storage without a mark is then not a new one, but perhaps a volume that is not mounted.
 */
import { randomUUID } from "node:crypto";
import type { Store } from "./store.ts";

const STORE_ID = "store_id";
const STORAGE_MARKED = "storage_marked";

export async function storeId(store: Pick<Store, "meta" | "change">): Promise<string> {
  // Changes wait for each other, also between nodes: of several that start at once, one makes it.
  return (await store.meta(STORE_ID)) ?? store.change(async (change) => (await change.meta(STORE_ID)) ?? make(change));
}

async function make(change: { putMeta(name: string, value: string): Promise<void> }): Promise<string> {
  const id = randomUUID();
  await change.putMeta(STORE_ID, id);
  return id;
}

export const hasMarkedStorage = async (store: Pick<Store, "meta">): Promise<boolean> =>
  (await store.meta(STORAGE_MARKED)) !== undefined;

export const noteMarkedStorage = (store: Pick<Store, "change">): Promise<void> =>
  store.change((change) => change.putMeta(STORAGE_MARKED, "yes"));
