/** Makes a backup, in a process of its own (order.ts). */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { openStorage } from "../../recordings/open-storage.ts";
import type { Storage } from "../../recordings/storage/storage.ts";
import { openStore } from "../../store/open.ts";
import { writeArchive } from "../archive/write.ts";
import { openTarget } from "../targets/open.ts";
import { copiedFiles, filesOfRecordings, schemaIn } from "./contents.ts";
import { filesInCopy, filesInStore, type ListedFile } from "./listed-files.ts";
import { BACKUP_FORMAT, HISTORY_ENTRY, type Manifest, STORE_ENTRY } from "./manifest.ts";
import { GO, type Made, type Order, type Report } from "./order.ts";
import { checkCopy, copyStill, makeStaging, requireSpace } from "./staging.ts";

const REPORT_EVERY_MS = 200;

export interface Maker {
  /** The next line of standard input; undefined: it has ended. */
  readonly line: () => Promise<string | undefined>;
  readonly report: (report: Report) => void;
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

export async function makeBackup(maker: Maker): Promise<void> {
  maker.report({ kind: "ready" });
  const text = await maker.line();
  if (text === undefined) return;
  const order = JSON.parse(text) as Order;
  const staging = makeStaging(order.storage.data, systemClock.wallMs());
  let made: Made | undefined;
  try {
    requireSpace(order.storage.data, order.still, order.storage.minFreeDiskBytes);
    await copyStill(order.still, staging);
    maker.report({ kind: "copied" });
    if ((await maker.line()) !== GO) return;
    for (const { name } of order.still) checkCopy(join(staging, name), name);
    made = await new Making(order, staging, maker).run();
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  // Last: the service may end this process as soon as it has read this.
  maker.report({ kind: "done", ...made });
}

class Making {
  private readonly copies: readonly string[];
  private files = 0;
  private bytes = 0;
  private missing = 0;
  private archiveBytes = 0;
  /** The first piece is reported at once: it may be the only one for a while. */
  private reportedMs = Number.NEGATIVE_INFINITY;
  private total = 0;

  constructor(
    private readonly order: Order,
    private readonly staging: string,
    private readonly maker: Maker,
  ) {
    // The store first: a restore can say early that it cannot be used.
    this.copies = [STORE_ENTRY, HISTORY_ENTRY].filter((name) => order.still.some((file) => file.name === name));
  }

  async run(): Promise<Made> {
    const { target } = this.order;
    const manifest = await this.manifest();
    this.total = manifest.bytes;
    const key = target?.key ? Buffer.from(target.key, "base64") : undefined;
    const archive = this.measured(
      writeArchive({
        manifest: { ...manifest },
        entries: this.entries(),
        nowMs: this.order.atMs,
        key,
        scratchFolder: this.staging,
      }),
    );
    if (target === null) {
      for await (const bytes of archive) await this.maker.write(bytes);
      return this.made(null);
    }
    const place = await openTarget(target.to, { env: process.env, nowMs: systemClock.wallMs });
    const { name } = await place.write(place.nameAt(this.order.atMs), archive, { expectedBytes: manifest.bytes });
    return this.made(name);
  }

  private made(name: string | null): Made {
    const { archiveBytes, bytes, files, missing } = this;
    return { name, archiveBytes, bytes, files, missing };
  }

  /** Counts what will be in it, for progress. */
  private async manifest(): Promise<Manifest> {
    const { order, staging } = this;
    let files = 0;
    let bytes = order.still.reduce((sum, file) => sum + file.bytes, 0);
    for await (const file of this.listed()) {
      files++;
      bytes += file.bytes;
    }
    return {
      format: BACKUP_FORMAT,
      parley: order.parley,
      at: new Date(order.atMs).toISOString(),
      schema: this.copies.includes(STORE_ENTRY) ? schemaIn(join(staging, STORE_ENTRY)) : null,
      recordings: order.withRecordings ? "copied" : "referenced",
      files: files + order.still.length,
      bytes,
    };
  }

  private async *listed(): AsyncGenerator<ListedFile> {
    const { order, staging } = this;
    if (!order.withRecordings) return;
    if (order.databaseUrl === "") return yield* filesInCopy(join(staging, STORE_ENTRY));
    const store = await openStore(order.storage.data, order.databaseUrl);
    try {
      yield* filesInStore(store);
    } finally {
      await store.close();
    }
  }

  private async *entries() {
    const { order, staging } = this;
    const all = [
      copiedFiles(staging, this.copies),
      filesOfRecordings(storageOf(order), this.listed(), order.atMs, () => this.missing++),
    ];
    for (const some of all)
      for await (const entry of some) {
        this.files++;
        yield { ...entry, bytes: this.counted(entry.bytes) };
      }
  }

  private async *measured(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const bytes of archive) {
      this.archiveBytes += bytes.length;
      yield bytes;
    }
  }

  private async *counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of source) {
      this.bytes += piece.length;
      const nowMs = systemClock.monotonicMs();
      if (nowMs - this.reportedMs >= REPORT_EVERY_MS) {
        this.reportedMs = nowMs;
        this.maker.report({ kind: "progress", bytes: this.bytes, total: this.total });
      }
      yield piece;
    }
  }
}

/** Opened for the first file: opening a folder makes it. */
function storageOf({ storage }: Order): () => Storage {
  let opened: Storage | undefined;
  return () => {
    opened ??= openStorage(storage, process.env);
    return opened;
  };
}
