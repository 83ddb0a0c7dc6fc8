/**
 * Recordings in a folder:
 *
 *   uploads/<id>            bytes that are still coming
 *   files/<app>/<xx>/<id>   whole ones; xx are the last digits of the id, so that no folder has too many
 *
 * Whole means: written, flushed, renamed into place, and the name flushed too.
 */
import { mkdirSync } from "node:fs";
import { type FileHandle, mkdir, open, opendir, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkedPlace, isObjectId, type Place, type Storage, StorageError, StorageFull } from "./storage.ts";

/** How much is written between two looks at the free disk. */
const LOOK_EVERY_BYTES = 16 * 1024 * 1024;

export class Folder implements Storage {
  readonly name: string;
  private readonly uploads: string;
  private readonly files: string;

  constructor(
    private readonly root: string,
    /** Below this many free bytes nothing is taken. */
    private readonly floorBytes: number,
  ) {
    this.name = `the folder ${root}`;
    this.uploads = join(root, "uploads");
    this.files = join(root, "files");
    try {
      for (const folder of [this.uploads, this.files]) mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new StorageError(`the folder for recordings ${root} cannot be written: ${(error as Error).message}`);
    }
  }

  async check(): Promise<void> {
    await statfs(this.root);
  }

  async roomFor(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.root);
    if (bavail * bsize - bytes < this.floorBytes) throw new StorageFull(`${this.root} has too little room left`);
  }

  async begin(): Promise<string> {
    return "";
  }

  async held(place: Place): Promise<number> {
    return (await sizeOf(this.partial(place))) ?? (await sizeOf(this.whole(place))) ?? 0;
  }

  async append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const file = await open(this.partial(place), offset === 0 ? "w" : "r+", 0o600);
    try {
      await this.write(file, offset, bytes);
    } finally {
      // Also what came before a cut: its sender will be told that we have it.
      await file.sync().finally(() => file.close());
    }
  }

  private async write(file: FileHandle, offset: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    let at = offset;
    let lookAt = at;
    try {
      for await (const chunk of bytes) {
        if (at >= lookAt) {
          await this.roomFor(0);
          lookAt = at + LOOK_EVERY_BYTES;
        }
        for (let done = 0; done < chunk.length; ) {
          const { bytesWritten } = await file.write(chunk, done, chunk.length - done, at);
          done += bytesWritten;
          at += bytesWritten;
        }
      }
    } catch (error) {
      throw isFull(error) ? new StorageFull("the disk is full") : error;
    }
  }

  async finish(place: Place, size: number): Promise<void> {
    const [from, to] = [this.partial(place), this.whole(place)];
    if ((await sizeOf(from)) === undefined && (await sizeOf(to)) === size) return;
    try {
      await this.moveIntoPlace(from, to, size);
    } catch (error) {
      throw isFull(error) ? new StorageFull("the disk is full") : error;
    }
  }

  private async moveIntoPlace(from: string, to: string, size: number): Promise<void> {
    // An empty recording never had a byte to make its file for.
    const file = await open(from, size === 0 ? "a" : "r+", 0o600);
    try {
      if ((await file.stat()).size !== size) throw new Error("the file does not have the size that its upload has");
      await file.sync();
    } finally {
      await file.close();
    }
    const made = await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await rename(from, to);
    await flush(dirname(to));
    if (made !== undefined) for (const folder of [dirname(dirname(to)), this.files]) await flush(folder);
    await flush(this.uploads);
  }

  async remove(place: Place): Promise<void> {
    await rm(this.partial(place), { force: true });
    await rm(this.whole(place), { force: true });
  }

  async head(place: Place, count: number): Promise<Uint8Array> {
    return Bun.file(this.whole(place)).slice(0, count).bytes();
  }

  async file(place: Place): Promise<Blob | undefined> {
    return (await sizeOf(this.whole(place))) === undefined ? undefined : Bun.file(this.whole(place));
  }

  link(): undefined {
    return undefined;
  }

  async *strays(before: number): AsyncGenerator<Place> {
    yield* oldFiles(this.uploads, "", before);
    for await (const app of names(this.files)) {
      // What we have not named is not ours to judge.
      if (!isObjectId(app)) continue;
      for await (const shard of names(join(this.files, app)))
        yield* oldFiles(join(this.files, app, shard), app, before);
    }
  }

  private partial(place: Place): string {
    checkedPlace(place);
    return join(this.uploads, place.id);
  }

  private whole(place: Place): string {
    checkedPlace(place);
    return join(this.files, place.app, place.id.slice(-2), place.id);
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

async function* names(folder: string): AsyncGenerator<string> {
  for await (const entry of await opendir(folder)) if (entry.isDirectory()) yield entry.name;
}

/** Of an upload's bytes the application is not in the path: any will do to name them. */
const NO_APP = "0".repeat(24);

async function* oldFiles(folder: string, app: string, before: number): AsyncGenerator<Place> {
  for await (const { name } of await opendir(folder)) {
    if (!isObjectId(name)) continue;
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found?.isFile() && found.mtimeMs < before) yield { app: app || NO_APP, id: name, ticket: "" };
  }
}

/** A name is safe when its folder is. */
async function flush(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");
const isAbsent = (error: unknown): boolean => codeOf(error) === "ENOENT";
/** No room, no room for this user, a file that may not grow. */
const isFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT", "EFBIG"].includes(codeOf(error));
