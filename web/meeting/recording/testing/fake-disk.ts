/** A disk in memory with a quota. What was written survives the desk that wrote it, as files do over a reload. */
import { type Disk, type DiskFile, type DiskFolder, MemoryFile } from "../disk.ts";

export class FakeDisk implements Disk {
  readonly #runs = new Map<string, Map<string, MemoryFile>>();
  quotaBytes = Number.POSITIVE_INFINITY;

  async runs(): Promise<readonly string[]> {
    return [...this.#runs.keys()];
  }

  async removeRun(run: string): Promise<void> {
    this.#runs.delete(run);
  }

  async folder(run: string): Promise<DiskFolder> {
    const files = this.#runs.get(run) ?? new Map<string, MemoryFile>();
    this.#runs.set(run, files);
    return {
      names: async () => [...files.keys()],
      remove: async (name) => void files.delete(name),
      open: async (name) => {
        const file = files.get(name) ?? new MemoryFile();
        files.set(name, file);
        return this.#limited(file);
      },
    };
  }

  get usedBytes(): number {
    return [...this.#runs.values()].flatMap((files) => [...files.values()]).reduce((sum, file) => sum + file.size(), 0);
  }

  #limited(file: MemoryFile): DiskFile {
    return {
      size: () => file.size(),
      read: (length, at) => file.read(length, at),
      truncate: (size) => file.truncate(size),
      close: () => undefined,
      write: (bytes, at) => {
        const grown = Math.max(0, at + bytes.length - file.size());
        // A full disk takes a part of the bytes before it refuses.
        if (this.usedBytes + grown > this.quotaBytes) {
          file.write(bytes.subarray(0, Math.floor(bytes.length / 2)), at);
          throw new Error("full");
        }
        file.write(bytes, at);
      },
    };
  }
}
