/**
 * Recordings in a folder:
 *
 *   uploads/<id>                  bytes that are still coming
 *   uploads/<id>.g<generation>    the same, after a writer was overtaken: a file that the earlier writer does not have open
 *   files/<app>/<xx>/<id>         whole ones; xx are the last digits of the id, so that no folder has too many
 *   quarantine/<day>/<app>/<id>   files that no recording belongs to, since that day
 *   parley-storage.json           whose storage this is
 *
 * Whole means: written, flushed, renamed into place, and the name flushed too.
 */
import { mkdirSync } from "node:fs";
import { constants, copyFile, mkdir, open, rename, rm, rmdir, statfs, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { appendTo } from "./folder-append.ts";
import { contentsOf, quarantinedIn } from "./folder-contents.ts";
import { flush, isAbsent, isFull, sizeOf } from "./folder-files.ts";
import {
  checkedPlace,
  type Found,
  MARK_NAME,
  type Place,
  type Quarantined,
  type Storage,
  StorageError,
  StorageFull,
  type Succession,
  type WriterLease,
} from "./storage.ts";

export class Folder implements Storage {
  readonly name: string;
  private readonly uploads: string;
  private readonly files: string;
  private readonly aside: string;

  constructor(
    private readonly root: string,
    /** Below this many free bytes nothing is taken. */
    private readonly floorBytes: number,
  ) {
    this.name = `the folder ${root}`;
    this.uploads = join(root, "uploads");
    this.files = join(root, "files");
    this.aside = join(root, "quarantine");
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

  append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>, lease: WriterLease): Promise<void> {
    return fullIsSaid(() => appendTo(this.partial(place), offset, bytes, lease, () => this.roomFor(0)));
  }

  /** Always another name, also where there is no file yet: the earlier writer may be about to make it. */
  async takeOver(place: Place, generation: number, kept: number | undefined): Promise<Succession> {
    const ticket = `g${generation}`;
    const [from, to] = [this.partial(place), this.partial({ ...place, ticket })];
    const succession = { ticket, clear: () => rm(from, { force: true }) };
    const size = await sizeOf(from);
    if (size === undefined) return succession;
    await this.roomFor(size);
    await fullIsSaid(async () => {
      // Without copying where the file system can share the blocks.
      await copyFile(from, to, constants.COPYFILE_FICLONE);
      if (kept !== undefined && kept < size) await truncate(to, kept);
      await flush(to);
      await flush(this.uploads);
    });
    return succession;
  }

  async finish(place: Place, size: number): Promise<void> {
    const [from, to] = [this.partial(place), this.whole(place)];
    if ((await sizeOf(from)) === undefined && (await sizeOf(to)) === size) return;
    await fullIsSaid(() => this.moveIntoPlace(from, to, size));
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
    await this.move(from, to);
    await flush(this.uploads);
  }

  /** The name is safe when this resolves. */
  private async move(from: string, to: string): Promise<void> {
    const made = await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await rename(from, to);
    await flush(dirname(to));
    if (made !== undefined) for (const up of [dirname(dirname(to)), dirname(dirname(dirname(to)))]) await flush(up);
  }

  async remove(place: Place): Promise<void> {
    await rm(this.partial(place), { force: true });
    if (place.ticket !== "") await rm(this.partial({ ...place, ticket: "" }), { force: true });
    await rm(this.whole(place), { force: true });
  }

  async discard(place: Place): Promise<void> {
    await rm(this.partial(place), { force: true });
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

  contents(): AsyncIterable<Found> {
    return contentsOf(this.uploads, this.files);
  }

  async quarantine(place: Place, nowMs: number): Promise<void> {
    const day = new Date(nowMs).toISOString().slice(0, 10);
    checkedPlace(place);
    await unlessAbsent(this.move(this.whole(place), join(this.aside, day, place.app, place.id)));
  }

  quarantined(): AsyncIterable<Quarantined> {
    return quarantinedIn(this.aside);
  }

  async restore({ place }: Quarantined): Promise<void> {
    await unlessAbsent(this.move(this.setAside(place), this.whole(place)));
    await this.tidy(place);
  }

  async purge({ place }: Quarantined): Promise<void> {
    await rm(this.setAside(place), { force: true });
    await this.tidy(place);
  }

  /** Folders of days that have nothing left in them. */
  private async tidy(place: Place): Promise<void> {
    const folder = dirname(this.setAside(place));
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

  private partial(place: Place): string {
    checkedPlace(place);
    // Any other ticket is from a bucket that was used before: then there is nothing here yet.
    return join(this.uploads, /^g\d{1,16}$/.test(place.ticket) ? `${place.id}.${place.ticket}` : place.id);
  }

  private whole(place: Place): string {
    checkedPlace(place);
    return join(this.files, place.app, place.id.slice(-2), place.id);
  }

  /** The ticket is the day. */
  private setAside(place: Place): string {
    checkedPlace(place);
    if (!/^\d{4}-\d{2}-\d{2}$/.test(place.ticket)) throw new Error("that is not a day of this quarantine");
    return join(this.aside, place.ticket, place.app, place.id);
  }
}

async function fullIsSaid<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isFull(error) ? new StorageFull("the disk is full") : error;
  }
}

/** Another node was quicker. */
const unlessAbsent = (work: Promise<void>): Promise<void> =>
  work.catch((error: unknown) => {
    if (!isAbsent(error)) throw error;
  });
