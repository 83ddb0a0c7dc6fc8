/** Counts the samples of an MP4 file, in its tables and in its fragments. A recorder writes fragments; what is mended has tables. */
import type { FileHandle } from "node:fs/promises";
import { type CountedMedia, checkDuration, checkTracks, FalseClaim, Tally } from "./count.ts";
import { FileWindow } from "./file-window.ts";

interface Box {
  readonly type: string;
  readonly at: number;
  readonly dataAt: number;
  readonly end: number;
}

/** What the track that is being read says about itself. */
interface Track {
  id: number;
  timescale: number;
  isMedia: boolean;
}

interface Fragment {
  track: number;
  base: number;
  sampleBytes: number;
}

const ENTERED: ReadonlySet<string> = new Set(["moov", "trak", "mdia", "minf", "stbl", "mvex", "moof", "traf"]);
/** The boxes above are four levels deep. */
const DEPTH_MAX = 8;
const MEDIA_TYPES = ["vide", "soun"];
/** A sample has an entry in a table or a fragment, and a byte at least. */
const SAMPLE_MIN_BYTES = 4;
/** The header of a box, its version and flags, and a number behind it. */
const [BOX_HEAD, FULL_HEAD] = [8, 4];
const UNKNOWN_DURATIONS = [0xffffffff, 2 ** 64];

/** Throws FalseClaim. */
export async function countMp4(file: FileHandle, fileSize: number): Promise<CountedMedia> {
  const count = new Mp4Count(new FileWindow(file, fileSize), fileSize);
  await count.boxes(0, fileSize, 0);
  return count.media();
}

class Mp4Count {
  private readonly tally = new Tally();
  /** Tracks that are neither pictures nor sound. Bound: TRACKS_MAX. */
  private readonly others = new Set<number>();
  /** Sizes of samples in fragments, by track. Bound: TRACKS_MAX, then the file is listed as it came. */
  private readonly defaultBytes = new Map<number, number>();
  private tracks = 0;
  private track: Track = newTrack();
  private fragmentAt = 0;
  private fragment: Fragment = { track: 0, base: 0, sampleBytes: 0 };
  private samples = 0;
  private readonly samplesMax: number;

  constructor(
    private readonly window: FileWindow,
    private readonly fileSize: number,
  ) {
    this.samplesMax = Math.floor(fileSize / SAMPLE_MIN_BYTES);
  }

  media(): CountedMedia {
    return this.tally.without(this.others);
  }

  /** `end` is what the box around them says. A file that was cut off ends before it, within one box or several. */
  async boxes(from: number, end: number, depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new FalseClaim("its boxes are nested too deeply");
    for (let at = from; at + BOX_HEAD <= Math.min(end, this.fileSize); ) {
      const box = await this.boxAt(at, end);
      if (!box) return;
      if (box.end > end && depth > 0)
        throw new FalseClaim(`a box of it (${box.type}) is larger than the one around it`);
      if (ENTERED.has(box.type)) await this.enter(box, depth);
      else if (box.end <= this.fileSize) await this.read(box);
      at = box.end;
    }
  }

  /** undefined: no box begins so. */
  private async boxAt(at: number, end: number): Promise<Box | undefined> {
    await this.need(at);
    const { window } = this;
    const size = window.uint(at, 4);
    const type = String.fromCharCode(...[4, 5, 6, 7].map((i) => window.byte(at + i)));
    if (size === 0) return { type, at, dataAt: at + BOX_HEAD, end };
    if (size === 1) {
      const large = window.uint(at + BOX_HEAD, 8);
      return large < 16 ? undefined : { type, at, dataAt: at + 16, end: at + large };
    }
    return size < BOX_HEAD ? undefined : { type, at, dataAt: at + BOX_HEAD, end: at + size };
  }

  private async enter({ type, at, dataAt, end }: Box, depth: number): Promise<void> {
    if (type === "trak") {
      checkTracks(++this.tracks);
      this.track = newTrack();
    }
    if (type === "moof") this.fragmentAt = at;
    await this.boxes(dataAt, end, depth + 1);
    if (type === "trak" && !this.track.isMedia) this.others.add(this.track.id);
  }

  private async read(box: Box): Promise<void> {
    await this.need(box.dataAt);
    const { window, track } = this;
    const at = box.dataAt + FULL_HEAD;
    const isLong = window.byte(box.dataAt) === 1;
    switch (box.type) {
      case "tkhd":
        track.id = window.uint(at + (isLong ? 16 : 8), 4);
        return;
      case "mvhd":
      case "mdhd":
        return this.duration(at + (isLong ? 16 : 8), isLong ? 8 : 4);
      case "hdlr":
        track.isMedia = MEDIA_TYPES.includes(String.fromCharCode(...[4, 5, 6, 7].map((i) => window.byte(at + i))));
        return;
      case "stsz":
        return this.sizes(box, at);
      case "stts":
      case "ctts":
        return this.runs(box, at);
      case "stsc":
        return this.chunks(box, at);
      case "stco":
        return void this.entries(box, at, 4);
      case "co64":
        return void this.entries(box, at, 8);
      case "trex":
        this.defaultBytes.set(window.uint(at, 4), window.uint(at + 12, 4));
        return checkTracks(this.defaultBytes.size);
      case "tfhd":
        return this.fragmentHead(box, at);
      case "trun":
        return this.run(box, at);
    }
  }

  private duration(at: number, bytes: number): void {
    const [scale, duration] = [this.window.uint(at, 4), this.window.uint(at + 4, bytes)];
    this.track.timescale = scale;
    if (scale > 0 && !UNKNOWN_DURATIONS.includes(duration)) checkDuration(duration / scale);
  }

  /** How many entries a table has; its box must have room for them. */
  private entries({ type, end }: Box, at: number, entryBytes: number): number {
    const count = this.window.uint(at, 4);
    if (at + 4 + count * entryBytes > end) throw new FalseClaim(`a table of it (${type}) claims ${count} entries`);
    return count;
  }

  private claimed(samples: number, bytes: number): void {
    this.samples += samples;
    if (this.samples > this.samplesMax || bytes > this.fileSize)
      throw new FalseClaim(`it claims ${this.samples} samples in ${this.fileSize} bytes`);
  }

  private async sizes(box: Box, at: number): Promise<void> {
    const each = this.window.uint(at, 4);
    const count = each === 0 ? this.entries(box, at + 4, 4) : this.window.uint(at + 4, 4);
    this.claimed(count, each * count);
    let bytes = each * count;
    for (let i = 0; each === 0 && i < count; i++) bytes += await this.uintAt(at + 8 + 4 * i);
    this.tally.add(this.track.id, count, bytes);
  }

  /** Each entry stands for as many samples as it says. */
  private async runs(box: Box, at: number): Promise<void> {
    const count = this.entries(box, at, 8);
    let [samples, time] = [0, 0];
    for (let i = 0; i < count; i++) {
      const [many, delta] = [await this.uintAt(at + 4 + 8 * i), await this.uintAt(at + 8 + 8 * i)];
      samples += many;
      time += many * delta;
    }
    if (samples > this.samplesMax) throw new FalseClaim(`it claims ${samples} samples in ${this.fileSize} bytes`);
    if (box.type === "stts" && this.track.timescale > 0) checkDuration(time / this.track.timescale);
  }

  private async chunks(box: Box, at: number): Promise<void> {
    const count = this.entries(box, at, 12);
    for (let i = 0; i < count; i++) {
      const many = await this.uintAt(at + 8 + 12 * i);
      if (many > this.samplesMax) throw new FalseClaim(`it claims ${many} samples in ${this.fileSize} bytes`);
    }
  }

  private fragmentHead({ dataAt }: Box, at: number): void {
    const { window } = this;
    const flags = window.uint(dataAt + 1, 3);
    const track = window.uint(at, 4);
    let next = at + 4;
    const take = (flag: number, bytes: number): number | undefined => {
      if ((flags & flag) === 0) return undefined;
      next += bytes;
      return window.uint(next - bytes, bytes);
    };
    const base = take(0x1, 8);
    take(0x2, 4);
    take(0x8, 4);
    const sampleBytes = take(0x10, 4) ?? this.defaultBytes.get(track) ?? 0;
    this.fragment = { track, base: base ?? this.fragmentAt, sampleBytes };
  }

  private async run(box: Box, at: number): Promise<void> {
    const { window, fragment } = this;
    const flags = window.uint(box.dataAt + 1, 3);
    const has = (flag: number): number => ((flags & flag) === 0 ? 0 : 4);
    const entryBytes = has(0x100) + has(0x200) + has(0x400) + has(0x800);
    const headBytes = has(0x1) + has(0x4);
    const count = window.uint(at, 4);
    if (at + 4 + headBytes + count * entryBytes > box.end)
      throw new FalseClaim(`a table of it (trun) claims ${count} entries`);
    this.claimed(count, 0);
    let dataAt = fragment.base + (has(0x1) ? window.uint(at + 4, 4) | 0 : 0);
    for (let i = 0; i < count; i++) {
      const entryAt = at + 4 + headBytes + i * entryBytes + has(0x100);
      const bytes = has(0x200) ? await this.uintAt(entryAt) : fragment.sampleBytes;
      dataAt += bytes;
      // What a file that was cut off has lost is not there to be kept.
      if (dataAt > this.fileSize) return;
      this.tally.add(fragment.track, 1, bytes);
    }
  }

  private async uintAt(at: number): Promise<number> {
    if (!this.window.hasHeader(at)) await this.need(at);
    return this.window.uint(at, 4);
  }

  private async need(at: number): Promise<void> {
    if (!this.window.hasHeader(at)) await this.window.move(at);
  }
}

const newTrack = (): Track => ({ id: 0, timescale: 0, isMedia: true });
