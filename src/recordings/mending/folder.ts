/** The temporary files of mending, in the data folder: inputs that come from a bucket, and outputs. What a crash leaves is removed later. */
import { mkdir, open, readdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import type { Place, Storage } from "../storage/storage.ts";

/** How much of a file is in memory at a time while it is copied. */
const PIECE_BYTES = 2 * 1024 * 1024;
/** Folders of other nodes that use the same data folder are left alone until no mending can take that long. */
const LEFTOVER_AGE_MS = 3_600_000;
/** Folders of trials, which may run at any time. */
export const CHECK_FOLDER_PREFIX = "check-";

export class MendingFolder {
  constructor(
    private readonly root: string,
    /** With fewer free bytes than these, nothing is written. */
    private readonly minFreeBytes: number,
  ) {}

  /** Runs `work` with the path of an empty folder, which is removed afterwards. `name` is used once. */
  async during<T>(name: string, work: (folder: string) => Promise<T>): Promise<T> {
    const folder = join(this.root, name);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Whether this number of bytes can be written. */
  async hasSpace(bytes: number): Promise<boolean> {
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    const { bavail, bsize } = await statfs(this.root);
    return bavail * bsize - bytes >= this.minFreeBytes;
  }

  /** `isAlone`: no other process uses this folder, so nothing in it is in use. */
  async removeLeftovers(isAlone: boolean): Promise<void> {
    for (const name of await readdir(this.root).catch(() => [])) {
      const path = join(this.root, name);
      const modifiedMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
      const isUnused = isAlone && !name.startsWith(CHECK_FOLDER_PREFIX);
      if (isUnused || systemClock.retentionMs() - modifiedMs > LEFTOVER_AGE_MS)
        await rm(path, { recursive: true, force: true });
    }
  }
}

/** Copies the bytes of a finished place to a file. */
export async function download(
  storage: Pick<Storage, "read">,
  place: Place,
  size: number,
  path: string,
  confirm: () => Promise<void>,
): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for (let at = 0; at < size; at += PIECE_BYTES) {
      await confirm();
      const last = Math.min(size, at + PIECE_BYTES) - 1;
      const piece = await storage.read(place, at, last);
      if (piece?.length !== last - at + 1) throw new Error("the file has fewer bytes than its upload");
      for (let done = 0; done < piece.length; )
        done += (await file.write(piece, done, piece.length - done, at + done)).bytesWritten;
    }
  } finally {
    await file.close();
  }
}

/** The bytes of a file. A piece is overwritten when the next one is asked for. */
export async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    const buffer = new Uint8Array(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
