/**
 * The bytes of one run that are not uploaded yet, in files named by the place of their first byte. What is uploaded is removed file by file,
 * so that a long meeting needs no more disk than what waits. Without a disk, or when it is full, they wait in memory.
 */
import { type DiskFile, type DiskFolder, MemoryFile } from "./disk.ts";

const SEGMENT_BYTES = 4 * 1024 * 1024;
const SEGMENT_NAME = /^bytes-(\d{1,15})$/;

/** How much all runs of this page may hold. */
export class Budget {
  disk: number;
  memory: number;

  constructor(
    max: { readonly disk: number; readonly memory: number } = { disk: 2 * 1024 ** 3, memory: 256 * 1024 ** 2 },
  ) {
    this.disk = max.disk;
    this.memory = max.memory;
  }
}

/** Neither the disk nor memory has a place for a part. */
export class QueueFull extends Error {}

interface Segment {
  readonly start: number;
  readonly file: DiskFile;
  readonly place: "disk" | "memory";
  size: number;
}

export class RunQueue {
  readonly #folder: DiskFolder | undefined;
  readonly #budget: Budget;
  #segments: Segment[] = [];
  #end = 0;
  /** One after the other: files are opened and removed asynchronously. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(folder: DiskFolder | undefined, budget: Budget) {
    this.#folder = folder;
    this.#budget = budget;
  }

  static fresh(folder: DiskFolder | undefined, budget: Budget): RunQueue {
    return new RunQueue(folder, budget);
  }

  /** What an earlier page has left, up to the first gap: parts that it held in memory are lost. */
  static async found(folder: DiskFolder, budget: Budget): Promise<RunQueue> {
    const queue = new RunQueue(folder, budget);
    const starts = (await folder.names()).flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? []).map(Number);
    const sorted = starts.sort((a, b) => a - b);
    queue.#end = sorted[0] ?? 0;
    for (const start of sorted) {
      if (start !== queue.#end) {
        await folder.remove(nameOf(start));
        continue;
      }
      const file = await folder.open(nameOf(start));
      const size = file.size();
      queue.#segments.push({ start, file, place: "disk", size });
      budget.disk -= size;
      queue.#end += size;
    }
    return queue;
  }

  /** The first byte that is still here. */
  get base(): number {
    return this.#segments[0]?.start ?? this.#end;
  }

  /** How many bytes the run has so far. */
  get end(): number {
    return this.#end;
  }

  get isInMemory(): boolean {
    return this.#segments.some(({ place }) => place === "memory");
  }

  /** Rejects with QueueFull; then nothing of these bytes is kept. */
  append(bytes: Uint8Array): Promise<void> {
    return this.#next(async () => {
      const last = this.#segments.at(-1);
      if (last && last.size < SEGMENT_BYTES && this.#write(last, bytes)) return;
      const file = await this.#openOnDisk();
      if (file && this.#write(this.#add(file, "disk"), bytes)) return;
      if (!this.#write(this.#add(new MemoryFile(), "memory"), bytes)) throw new QueueFull();
    });
  }

  /** At most `max` bytes from there on; fewer at the end of a file. */
  read(from: number, max: number): Uint8Array<ArrayBuffer> {
    const segment = this.#segments.find(({ start, size }) => start <= from && from < start + size);
    if (!segment) return new Uint8Array(0);
    const at = from - segment.start;
    return segment.file.read(Math.min(max, segment.size - at), at);
  }

  /** Everything before this place is uploaded. */
  release(to: number): Promise<void> {
    return this.#next(async () => {
      // The last one goes on being written to, unless it is full.
      const isDone = ({ start, size }: Segment): boolean => start + size <= to && size >= SEGMENT_BYTES;
      const done = this.#segments.filter(isDone);
      this.#segments = this.#segments.filter((one) => !done.includes(one));
      for (const segment of done) await this.#remove(segment);
    });
  }

  /** The run is over, and its folder is removed after this. */
  close(): Promise<void> {
    return this.#next(async () => {
      for (const segment of this.#segments) await this.#remove(segment);
      this.#segments = [];
    });
  }

  #write(segment: Segment, bytes: Uint8Array): boolean {
    if (bytes.length > this.#budget[segment.place]) return this.#drop(segment);
    try {
      segment.file.write(bytes, segment.size);
    } catch {
      return this.#drop(segment);
    }
    segment.size += bytes.length;
    this.#end += bytes.length;
    this.#budget[segment.place] -= bytes.length;
    return true;
  }

  /** What was written of a part that has no place is taken back. An empty file is no part of the run. */
  #drop(segment: Segment): false {
    try {
      segment.file.truncate(segment.size);
    } catch {
      // The disk takes nothing any more. After a reload this file would be too long: it is the last that is found.
    }
    if (segment.size > 0) return false;
    this.#segments = this.#segments.filter((one) => one !== segment);
    void this.#remove(segment).catch(() => undefined);
    return false;
  }

  async #openOnDisk(): Promise<DiskFile | undefined> {
    try {
      return await this.#folder?.open(nameOf(this.#end));
    } catch {
      return undefined;
    }
  }

  #add(file: DiskFile, place: Segment["place"]): Segment {
    const segment = { start: this.#end, file, place, size: 0 };
    this.#segments.push(segment);
    return segment;
  }

  async #remove({ start, file, place, size }: Segment): Promise<void> {
    file.close();
    this.#budget[place] += size;
    if (place === "disk") await this.#folder?.remove(nameOf(start));
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

const nameOf = (start: number): string => `bytes-${start}`;
