/** The origin's private file system, in a folder of its own. */
import type { Disk, DiskFile, DiskFolder } from "./disk.ts";

const ROOT = "parley-recordings";

/** Only workers have it, and TypeScript's types of pages do not know it. */
interface SyncAccessHandle {
  getSize(): number;
  write(bytes: Uint8Array, options: { readonly at: number }): number;
  read(bytes: Uint8Array, options: { readonly at: number }): number;
  truncate(size: number): void;
  flush(): void;
  close(): void;
}

type WorkerFile = FileSystemFileHandle & { createSyncAccessHandle?(): Promise<SyncAccessHandle> };
type Listed = FileSystemDirectoryHandle & { keys(): AsyncIterableIterator<string> };

/** undefined: the browser has none, or does not allow it here (private windows, frames). */
export async function openDisk(): Promise<Disk | undefined> {
  try {
    const root = (await (await navigator.storage.getDirectory()).getDirectoryHandle(ROOT, { create: true })) as Listed;
    const canWrite = "createSyncAccessHandle" in FileSystemFileHandle.prototype && "locks" in navigator;
    return canWrite ? diskIn(root) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an earlier page has left something. For pages: it does not start a worker. */
export async function hasRuns(): Promise<boolean> {
  try {
    const root = (await (await navigator.storage.getDirectory()).getDirectoryHandle(ROOT)) as Listed;
    return (await namesIn(root)).length > 0;
  } catch {
    return false;
  }
}

async function namesIn(folder: Listed): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const name of folder.keys()) names.push(name);
  return names;
}

const diskIn = (root: Listed): Disk => ({
  runs: () => namesIn(root),
  folder: async (run) => folderOf((await root.getDirectoryHandle(run, { create: true })) as Listed),
  removeRun: (run) => ignoreMissing(root.removeEntry(run, { recursive: true })),
});

const folderOf = (folder: Listed): DiskFolder => ({
  names: () => namesIn(folder),
  open: async (name) => {
    const file = (await folder.getFileHandle(name, { create: true })) as WorkerFile;
    if (!file.createSyncAccessHandle) throw new Error("Files cannot be written here.");
    return fileOf(await file.createSyncAccessHandle());
  },
  remove: (name) => ignoreMissing(folder.removeEntry(name)),
});

const fileOf = (handle: SyncAccessHandle): DiskFile => ({
  size: () => handle.getSize(),
  write: (bytes, at) => {
    const written = handle.write(bytes, { at });
    handle.flush();
    // A disk that fills up may take a part of the bytes only, and Chromium may nevertheless say that it has taken all.
    if (written < bytes.length || handle.getSize() < at + bytes.length)
      throw new DOMException("The disk is full.", "QuotaExceededError");
  },
  read: (length, at) => {
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, handle.read(bytes, { at }));
  },
  truncate: (size) => handle.truncate(size),
  close: () => handle.close(),
});

async function ignoreMissing(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "NotFoundError")) throw error;
  }
}
