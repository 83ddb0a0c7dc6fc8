/**
 * Recordings in a folder:
 *
 *   uploads/<id>                  bytes of an open upload
 *   uploads/<id>.g<generation>    the same after a takeover: a file that the earlier writer does not have open
 *   files/<app>/<xx>/<id>         finished recordings; xx are the last two digits of the id, so that no folder grows too large
 *   quarantine/<day>/<app>/<id>   files without a recording, set aside on that day
 *   parley-storage.json           names the store that owns this folder
 *
 * Finished means written, flushed, renamed into place, and the folder of the new name flushed.
 */
import { mkdirSync } from "node:fs";
import { constants, copyFile, mkdir, open, rename, rm, rmdir, statfs, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  CHECK_NAME,
  checkedPlace,
  MARK_NAME,
  type Place,
  type Quarantined,
  type Storage,
  StorageError,
  StorageFull,
  StorageMissing,
  StorageUnwritable,
  type StoredEntry,
  type Takeover,
  type WriterLease,
} from "../storage.ts";
import { appendTo } from "./append.ts";
import { contentsOf, quarantinedIn } from "./contents.ts";
import { flush, isAbsent, isForbidden, isFull, sizeOf } from "./files.ts";

export class Folder implements Storage {
  readonly name: string;
  readonly losesUnflushed = true;
  private readonly uploads: string;
  private readonly files: string;
  private readonly quarantineFolder: string;

  constructor(
    private readonly root: string,
    /** With fewer free bytes than these, no more are accepted. */
    private readonly minFreeBytes: number,
  ) {
    this.name = `the folder ${root}`;
    this.uploads = join(root, "uploads");
    this.files = join(root, "files");
    this.quarantineFolder = join(root, "quarantine");
    try {
      for (const folder of [this.uploads, this.files]) mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new StorageError(`the folder for recordings ${root} cannot be written: ${(error as Error).message}`);
    }
  }

  /** Writes where uploads are written: whether that works, no attribute of a folder tells for sure. */
  async check(): Promise<void> {
    const path = join(this.uploads, CHECK_NAME);
    await mappingDiskFull(async () => {
      await writeFile(path, CHECK_NAME, { mode: 0o600 });
      await rm(path, { force: true });
    }).catch((error: unknown) => {
      if (isAbsent(error)) throw new StorageMissing(`${this.uploads} does not exist`);
      if (isForbidden(error)) throw new StorageUnwritable(`${this.uploads}: ${(error as Error).message}`);
      throw error;
    });
    await this.checkSpace(0);
  }

  async checkSpace(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.root);
    if (bavail * bsize - bytes < this.minFreeBytes) throw new StorageFull(`${this.root} has too little room left`);
  }

  async begin(): Promise<string> {
    return "";
  }

  async storedBytes(place: Place): Promise<number> {
    return (await sizeOf(this.uploadPath(place))) ?? (await sizeOf(this.filePath(place))) ?? 0;
  }

  append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>, lease: WriterLease): Promise<void> {
    return mappingDiskFull(() => appendTo(this.uploadPath(place), offset, bytes, lease, () => this.checkSpace(0)));
  }

  /** Always uses another name, even where there is no file yet: the earlier writer may be about to create it. */
  async takeOver(place: Place, generation: number, kept: number | undefined): Promise<Takeover> {
    const locator = `g${generation}`;
    const [from, to] = [this.uploadPath(place), this.uploadPath({ ...place, locator })];
    const takeover = { locator: locator, clear: () => rm(from, { force: true }) };
    const size = await sizeOf(from);
    if (size === undefined) return takeover;
    await this.checkSpace(size);
    await mappingDiskFull(async () => {
      // Copies no data where the file system can share the blocks.
      await copyFile(from, to, constants.COPYFILE_FICLONE);
      if (kept !== undefined && kept < size) await truncate(to, kept);
      await flush(to);
      await flush(this.uploads);
    });
    return takeover;
  }

  async finish(place: Place, size: number): Promise<void> {
    const [from, to] = [this.uploadPath(place), this.filePath(place)];
    if ((await sizeOf(from)) === undefined && (await sizeOf(to)) === size) return;
    await mappingDiskFull(() => this.moveIntoPlace(from, to, size));
  }

  private async moveIntoPlace(from: string, to: string, size: number): Promise<void> {
    // No byte was ever appended to an empty recording, so its file may not exist yet.
    const file = await open(from, size === 0 ? "a" : "r+", 0o600);
    try {
      if ((await file.stat()).size !== size) throw new Error("the file does not have the size that its upload has");
      await file.sync();
    } finally {
      await file.close();
    }
    await this.move(from, to);
    await flush(this.uploads);
  }

  /** The new name is durable when this resolves. */
  private async move(from: string, to: string): Promise<void> {
    const made = await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await rename(from, to);
    await flush(dirname(to));
    if (made !== undefined) for (const up of [dirname(dirname(to)), dirname(dirname(dirname(to)))]) await flush(up);
  }

  async remove(place: Place): Promise<void> {
    await rm(this.uploadPath(place), { force: true });
    if (place.locator !== "") await rm(this.uploadPath({ ...place, locator: "" }), { force: true });
    await rm(this.filePath(place), { force: true });
  }

  async discard(place: Place): Promise<void> {
    await rm(this.uploadPath(place), { force: true });
  }

  async head(place: Place, count: number): Promise<Uint8Array> {
    return Bun.file(this.filePath(place)).slice(0, count).bytes();
  }

  async read(place: Place, first: number, last: number): Promise<Uint8Array | undefined> {
    return (await this.file(place))?.slice(first, last + 1).bytes();
  }

  path(place: Place): string {
    return this.filePath(place);
  }

  async file(place: Place): Promise<Blob | undefined> {
    return (await sizeOf(this.filePath(place))) === undefined ? undefined : Bun.file(this.filePath(place));
  }

  async openFile(place: Place): Promise<Blob | undefined> {
    return (await sizeOf(this.uploadPath(place))) === undefined ? undefined : Bun.file(this.uploadPath(place));
  }

  link(): undefined {
    return undefined;
  }

  contents(): AsyncIterable<StoredEntry> {
    return contentsOf(this.uploads, this.files);
  }

  async quarantine(place: Place, nowMs: number): Promise<void> {
    const day = new Date(nowMs).toISOString().slice(0, 10);
    checkedPlace(place);
    await unlessAbsent(this.move(this.filePath(place), join(this.quarantineFolder, day, place.app, place.id)));
  }

  quarantined(): AsyncIterable<Quarantined> {
    return quarantinedIn(this.quarantineFolder);
  }

  async restore({ place }: Quarantined): Promise<void> {
    await unlessAbsent(this.move(this.quarantinePath(place), this.filePath(place)));
    await this.removeEmptyFolders(place);
  }

  async purge({ place }: Quarantined): Promise<void> {
    await rm(this.quarantinePath(place), { force: true });
    await this.removeEmptyFolders(place);
  }

  /** Removes the folders of a day once they are empty. */
  private async removeEmptyFolders(place: Place): Promise<void> {
    const folder = dirname(this.quarantinePath(place));
    await rmdir(folder)
      .then(() => rmdir(dirname(folder)))
      .catch(() => undefined);
  }

  async readMark(): Promise<string | undefined> {
    const file = Bun.file(join(this.root, MARK_NAME));
    return (await file.exists()) ? file.text() : undefined;
  }

  async writeMark(text: string): Promise<void> {
    const path = join(this.root, MARK_NAME);
    const temporary = `${path}.${crypto.randomUUID()}`;
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await flush(this.root);
  }

  private uploadPath(place: Place): string {
    checkedPlace(place);
    // Any other locator was given by a bucket that was configured before: then this folder has no bytes of the upload yet.
    return join(this.uploads, /^g\d{1,16}$/.test(place.locator) ? `${place.id}.${place.locator}` : place.id);
  }

  private filePath(place: Place): string {
    checkedPlace(place);
    return join(this.files, place.app, place.id.slice(-2), place.id);
  }

  /** The locator is the day. */
  private quarantinePath(place: Place): string {
    checkedPlace(place);
    if (!/^\d{4}-\d{2}-\d{2}$/.test(place.locator)) throw new Error("that is not a day of this quarantine");
    return join(this.quarantineFolder, place.locator, place.app, place.id);
  }
}

async function mappingDiskFull<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isFull(error) ? new StorageFull("the disk is full") : error;
  }
}

/** Ignores a missing file: another node has moved it already. */
const unlessAbsent = (work: Promise<void>): Promise<void> =>
  work.catch((error: unknown) => {
    if (!isAbsent(error)) throw error;
  });
