/**
 * Copies of the embedded stores, made before a start changes their schema: the way back to the version before. They are in the data folder, and as
 * secret as the stores themselves.
 */
import { Database } from "bun:sqlite";
import { mkdirSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { humanBytes } from "../base/human-bytes.ts";
import { StoreError } from "./contract/store.ts";
import { PARTIAL, PartialFile } from "./engines/whole-file.ts";

/** Gets sentences while a store is changed to the schema of this version: a log has both. */
export interface UpgradeLog {
  info(text: string): void;
  warn(text: string): void;
}

/** For callers that open stores of this version only. */
export const UNHEARD: UpgradeLog = { info: () => undefined, warn: () => undefined };

/** How the file of a store begins. */
export type CopiedStore = "parley" | "history";

/** Copies of a store that are kept; the oldest is removed first. */
const COPIES_KEPT = 2;
/** What must stay free beside a copy, for the migration and what follows it. */
const SPARE_BYTES = 16 * 1024 * 1024;

export const copiesFolder = (dataFolder: string): string => join(dataFolder, "before-upgrade");
export const copyName = (store: CopiedStore, schema: number): string => `${store}-schema-${schema}.sqlite`;

/** How many bytes are free where copies are made. */
export function freeForCopies(dataFolder: string): number {
  const folder = copiesFolder(dataFolder);
  const { bavail, bsize } = statfsSync(statSync(folder, { throwIfNoEntry: false }) ? folder : dataFolder);
  return bavail * bsize;
}

interface Copied {
  readonly dataFolder: string;
  readonly store: CopiedStore;
  /** The schema that the store has. */
  readonly schema: number;
  /** How large the copy will be, at most. */
  readonly bytes: number;
}

/** Why a copy has no room, as a clause; undefined: it has. */
export function lackOfRoom({ dataFolder, bytes }: Pick<Copied, "dataFolder" | "bytes">): string | undefined {
  const free = freeForCopies(dataFolder);
  const needed = bytes + SPARE_BYTES;
  return free >= needed
    ? undefined
    : `${humanBytes(needed)} are needed in ${copiesFolder(dataFolder)}, and ${humanBytes(free)} are free`;
}

/** One copy, from the check for room to its final name. It MUST end with `finish` or `abandon`. */
export class CopyBeforeUpgrade {
  private readonly partial: PartialFile;
  private readonly folder: string;
  private readonly file: string;

  /** Its store is locked, so no other process makes a copy of it. Throws a StoreError if there is no room. */
  constructor(private readonly copied: Copied) {
    const { dataFolder, store, schema } = copied;
    this.folder = copiesFolder(dataFolder);
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    // What a process left that was killed while it copied.
    for (const name of readdirSync(this.folder))
      if (name.startsWith(`${store}-schema-`) && name.includes(PARTIAL)) rmSync(join(this.folder, name));
    const lack = lackOfRoom(copied);
    if (lack !== undefined)
      throw new StoreError(
        `there is not enough space to copy the store before its upgrade: ${lack}. Nothing was changed. Free some space, or make ${this.folder} a link to a folder on another disk; then start this version again`,
      );
    this.file = join(this.folder, copyName(store, schema));
    this.partial = new PartialFile(this.file);
  }

  /** For `VACUUM INTO`, which wants an empty file. */
  get path(): string {
    return this.partial.path;
  }

  /** Returns where it is. It is complete and on the disk then. */
  finish(): string {
    // A damaged copy must be noticed now, not when it is needed.
    using db = new Database(this.path, { readwrite: true, create: false });
    const flaw = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check;
    if (flaw !== "ok")
      throw new StoreError(
        `both the store and its copy are damaged: ${flaw ?? "it cannot be checked"}. Nothing was changed. Restore a backup with "parley restore FILE"`,
      );
    this.partial.finish();
    removeOldest(this.folder, this.copied.store);
    return this.file;
  }

  abandon(): void {
    this.partial.abandon();
  }
}

function removeOldest(folder: string, store: CopiedStore): void {
  const pattern = new RegExp(`^${store}-schema-\\d+\\.sqlite$`);
  const copies = readdirSync(folder)
    .filter((name) => pattern.test(name))
    .map((name) => ({ name, madeMs: statSync(join(folder, name)).mtimeMs }))
    .toSorted((one, other) => other.madeMs - one.madeMs);
  for (const { name } of copies.slice(COPIES_KEPT)) rmSync(join(folder, name));
}
