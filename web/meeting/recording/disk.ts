/** Where the bytes of runs wait: a private file system (opfs.ts), or memory. */

/** A file of a run's bytes. Reads and writes are synchronous, as in workers. */
export interface DiskFile {
  size(): number;
  /** Throws if the disk is full. */
  write(bytes: Uint8Array, at: number): void;
  read(length: number, at: number): Uint8Array<ArrayBuffer>;
  truncate(size: number): void;
  close(): void;
}

/** The files of one run. */
export interface DiskFolder {
  names(): Promise<readonly string[]>;
  /** Makes it if there is none. */
  open(name: string): Promise<DiskFile>;
  remove(name: string): Promise<void>;
}

export interface Disk {
  runs(): Promise<readonly string[]>;
  /** Makes it if there is none. */
  folder(run: string): Promise<DiskFolder>;
  removeRun(run: string): Promise<void>;
}

export class MemoryFile implements DiskFile {
  #bytes = new Uint8Array(0);

  size(): number {
    return this.#bytes.length;
  }

  write(bytes: Uint8Array, at: number): void {
    const all = new Uint8Array(Math.max(this.#bytes.length, at + bytes.length));
    all.set(this.#bytes);
    all.set(bytes, at);
    this.#bytes = all;
  }

  read(length: number, at: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(at, at + length);
  }

  truncate(size: number): void {
    this.#bytes = this.#bytes.slice(0, size);
  }

  close(): void {}
}
