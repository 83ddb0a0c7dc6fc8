/**
 * Backups in a folder, or one file in it. A backup is written under another name (partials.ts), flushed, and then linked to its own name, which
 * fails if that is taken. Where the file system has no links, it is renamed, after a look whether the name is free.
 */
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { flush, isAbsent, isForbidden, isFull, sizeOf } from "../../recordings/storage/folder/files.ts";
import { backupName, byAge, isBackupName, numbered, parsedName, SAME_SECOND_MAX } from "./names.ts";
import { partialName, removeLeftovers } from "./partials.ts";
import { type Backup, type Target, TargetError, throwIfAborted, type WriteOptions } from "./target.ts";

const READ_BYTES = 256 * 1024;
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"];

export interface SingleFile {
  readonly name: string;
  /** Whether an existing file is replaced. */
  readonly force: boolean;
}

export class FolderTarget implements Target {
  readonly label: string;
  readonly isSingle: boolean;

  constructor(
    private readonly folder: string,
    private readonly nowMs: () => number,
    private readonly single?: SingleFile,
  ) {
    this.isSingle = single !== undefined;
    this.label = single ? join(folder, single.name) : `the folder ${folder}`;
  }

  nameAt(nowMs: number): string {
    return this.single?.name ?? backupName(nowMs);
  }

  async write(name: string, bytes: AsyncIterable<Uint8Array>, options: WriteOptions = {}): Promise<Backup> {
    this.check(name);
    return this.mapped(async () => {
      if (!this.single) await mkdir(this.folder, { recursive: true, mode: 0o700 });
      await this.refuseExisting();
      await removeLeftovers(this.folder, (of) => this.isOurs(of), this.nowMs());
      const path = join(this.folder, partialName(name));
      try {
        const size = await this.fill(path, bytes, options.signal);
        const final = await this.publish(path, name);
        await flush(this.folder);
        return { name: final, bytes: size, timeMs: parsedName(final)?.timeMs ?? this.nowMs() };
      } finally {
        await rm(path, { force: true });
      }
    });
  }

  list(): Promise<Backup[]> {
    return this.mapped(async () => {
      const names = this.single ? [this.single.name] : (await readdir(this.folder)).filter(isBackupName).sort(byAge);
      const found: Backup[] = [];
      for (const name of names) {
        const file = await stat(join(this.folder, name)).catch(absentIsNone);
        if (file?.isFile()) found.push({ name, bytes: file.size, timeMs: parsedName(name)?.timeMs ?? file.mtimeMs });
      }
      return found;
    });
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    this.check(name);
    const file = await this.mapped(() => open(join(this.folder, name), "r"));
    try {
      for (;;) {
        const chunk = new Uint8Array(READ_BYTES);
        const { bytesRead } = await this.mapped(() => file.read(chunk, 0, chunk.length));
        if (bytesRead === 0) return;
        yield chunk.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async remove(name: string): Promise<void> {
    this.check(name);
    await this.mapped(async () => {
      await rm(join(this.folder, name), { force: true });
      await flush(this.folder).catch(absentIsNone);
    });
  }

  private isOurs(name: string): boolean {
    return this.single ? name === this.single.name : isBackupName(name);
  }

  /** A name never leads out of the folder, nor to a file that is no backup. */
  private check(name: string): void {
    if (!this.isOurs(name)) throw new Error("only backups of this target are written, read and removed");
  }

  private async refuseExisting(): Promise<void> {
    if (!this.single) return;
    const path = join(this.folder, this.single.name);
    const found = await stat(path).catch(absentIsNone);
    if (found && !found.isFile())
      throw new TargetError("exists", `${path} exists and is not a file: choose another one`);
    if (found && !this.single.force) throw alreadyThere(path);
    if (found && (await this.isOfService(this.single.name)))
      throw new TargetError("exists", `${path} belongs to the data folder of a service: choose a file elsewhere`);
  }

  /** Without one of these the service is lost. Elsewhere, 0.1.0 wrote backups under such names. */
  private async isOfService(name: string): Promise<boolean> {
    if (!/^((parley|history)\.sqlite(-wal|-shm|-journal)?|master\.key|first-run\.txt)$/.test(name)) return false;
    const ofData = ["servers", "recordings"].map((one) => sizeOf(join(this.folder, one)));
    return (await Promise.all(ofData)).some((size) => size !== undefined);
  }

  /** Returns how many bytes that were. */
  private async fill(path: string, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<number> {
    const file = await open(path, "wx", 0o600);
    try {
      let size = 0;
      throwIfAborted(signal);
      for await (const chunk of fromSource(bytes)) {
        await writeAll(file, chunk, size);
        size += chunk.length;
        throwIfAborted(signal);
      }
      await file.sync();
      return size;
    } finally {
      await file.close();
    }
  }

  /** Returns the name that it got. */
  private async publish(path: string, name: string): Promise<string> {
    if (this.single?.force) {
      await rename(path, join(this.folder, name));
      return name;
    }
    for (let number = 1; number <= SAME_SECOND_MAX; number++) {
      const wanted = number === 1 ? name : numbered(name, number);
      if (await linkOrRename(path, join(this.folder, wanted))) return wanted;
      if (this.single) break;
    }
    throw alreadyThere(join(this.folder, name));
  }

  /** Says what the system reports in terms of the target; errors of the source stay as they are. */
  private async mapped<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OfSource) throw error.error;
      throw error instanceof TargetError ? error : this.problem(error);
    }
  }

  private problem(error: unknown): unknown {
    const message = error instanceof Error ? error.message : String(error);
    if (isFull(error))
      return new TargetError("full", `${this.label} has no space left: free some, or choose another place`, {
        cause: error,
      });
    if (isAbsent(error))
      return new TargetError("missing", `${this.label} does not exist (${message})`, { cause: error });
    if (isForbidden(error))
      return new TargetError("forbidden", `${this.label} cannot be used: ${message}. Let this user write to it.`, {
        cause: error,
      });
    const isOfSystem = error instanceof Error && "code" in error;
    return isOfSystem ? new TargetError("unavailable", `${this.label}: ${message}`, { cause: error }) : error;
  }
}

/** An error of the source, which may look like one of the disk that is written to. */
class OfSource extends Error {
  constructor(readonly error: unknown) {
    super();
  }
}

async function* fromSource(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    throw new OfSource(error);
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < chunk.length; )
    done += (await file.write(chunk, done, chunk.length - done, at + done)).bytesWritten;
}

/** False if the name is taken. */
async function linkOrRename(path: string, to: string): Promise<boolean> {
  try {
    await link(path, to);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "EEXIST") return false;
    if (!NO_LINKS.includes(code)) throw error;
  }
  if ((await sizeOf(to)) !== undefined) return false;
  await rename(path, to);
  return true;
}

const absentIsNone = (error: unknown): undefined => {
  if (!isAbsent(error)) throw error;
};

const alreadyThere = (path: string): TargetError =>
  new TargetError("exists", `${path} already exists: choose another file, or replace it with --force`);
