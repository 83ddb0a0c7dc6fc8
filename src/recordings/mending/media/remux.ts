/**
 * Writes the packets of a recording anew, without decoding them, into a file with a duration and an index. Runs in the process of its own
 * that process-mender.ts starts: the library is loaded here only, and the file may be hostile.
 */
import { type FileHandle, open } from "node:fs/promises";
import type * as Library from "mediabunny";
import type { RecordingFormat } from "../../../store/contract/recordings.ts";
import { formatOf, SIGNATURE_BYTES } from "../../files/signature.ts";
import { type CountedMedia, checkTracks, requireAllOf } from "./count.ts";
import { countMp4 } from "./mp4-count.ts";
import { checkOggTracks } from "./ogg-count.ts";
import { type Copied, type CopiedTrack, copyPackets } from "./packets.ts";
import { countWebm } from "./webm-count.ts";
import { GapFile, gapBytes } from "./webm-index.ts";
import { type Whole, wholeWebm } from "./whole-webm.ts";

export interface Remuxed {
  readonly durationMs: number;
}

type MediaTrack = Library.InputVideoTrack | Library.InputAudioTrack;

const CACHE_BYTES = 4 * 1024 * 1024;
const WRITE_BYTES = 1024 * 1024;
/** If less than this share of the input could be copied, the input is worth more than the output. */
const COPIED_SHARE_MIN = 0.9;
const UNCOPIED_FREE_BYTES = 64 * 1024;
/** The head of a small file is a large part of it, but not all. */
const [HEAD_BYTES, HEAD_SHARE] = [4 * 1024, 0.5];
/** The runtime does not count the memory of buffers as its own, and would let hundreds of megabytes of used ones pile up. */
const COLLECT_EVERY_BYTES = 32 * 1024 * 1024;

/** Throws if the output would be worth less than the input. */
export async function remux(inputPath: string, outputPath: string): Promise<Remuxed> {
  const library = await import("mediabunny");
  const file = await open(inputPath, "r");
  try {
    return await new Remuxing(library, file).run(outputPath);
  } finally {
    await file.close();
  }
}

class Remuxing {
  private isUnreadable = false;
  private uncollected = 0;

  constructor(
    private readonly library: typeof Library,
    private readonly file: FileHandle,
  ) {}

  async run(outputPath: string): Promise<Remuxed> {
    const { library, file } = this;
    const { size } = await file.stat();
    const format = await this.format();
    const whole = format === "webm" ? await wholeWebm(file, size) : { end: size, patches: [] };
    // Before the library reads anything: it would do the work that a file claims, whatever its size.
    const media = await mediaIn(file, format, size, whole.end);
    const input = new library.Input({
      formats: [library.WEBM, library.MP4, library.OGG],
      source: this.source(whole),
    });
    const tracks = await this.readable(await input.getTracks());
    const written = await open(outputPath, "wx+", 0o600);
    const gap = new GapFile(written, format === "webm" ? gapBytes(size) : 0);
    try {
      const copied = await this.copy(tracks, format, gap);
      if (this.isUnreadable) throw Object.assign(new Error("the file could not be read to its end"), { code: "EIO" });
      // What the library was given need not be what it has written.
      const outputSize = (await written.stat()).size;
      requireAllOf(media, await mediaIn(written, format, outputSize, outputSize), copied.tracks);
      const free = Math.min(UNCOPIED_FREE_BYTES, HEAD_BYTES + HEAD_SHARE * size);
      if (copied.accountedBytes < COPIED_SHARE_MIN * size - free)
        throw new Error(`frames with only ${copied.accountedBytes} of its ${size} bytes can be read`);
      return { durationMs: copied.durationMs };
    } finally {
      await written.close();
    }
  }

  private async copy(tracks: readonly MediaTrack[], format: RecordingFormat, gap: GapFile): Promise<Copied> {
    const { library } = this;
    const output = new library.Output({
      format: outputFormat(library, format, (at) => gap.headEnds(at)),
      target: new library.StreamTarget(gap.stream(), { chunked: true, chunkSize: WRITE_BYTES }),
    });
    const copied: CopiedTrack[] = [];
    const indexed = Math.max(
      0,
      tracks.findIndex((track) => track.isVideoTrack()),
    );
    const keysMs: number[] = [];
    for (const [at, track] of tracks.entries())
      copied.push(await copiedTrack(library, track, output, at === indexed ? keysMs : undefined));
    await output.start();
    const result = await copyPackets(copied);
    await output.finalize();
    // Tracks of the output are numbered in the order in which they were added. Every packet of sound is a key packet.
    if (format === "webm") await gap.moveIndex(1 + indexed, tracks[indexed]?.isVideoTrack() ? keysMs : undefined);
    return result;
  }

  private async format(): Promise<RecordingFormat> {
    const head = new Uint8Array(SIGNATURE_BYTES);
    const { bytesRead } = await this.file.read(head, 0, head.length, 0);
    return formatOf(head.subarray(0, bytesRead));
  }

  private source({ end, patches }: Whole): Library.Source {
    return new this.library.CustomSource({
      getSize: () => end,
      read: async (start, stop) => {
        const bytes = await this.bytes(start, stop);
        for (const patch of patches)
          for (const [i, byte] of patch.bytes.entries()) {
            const at = patch.at + i - start;
            if (at >= 0 && at < bytes.length) bytes[at] = byte;
          }
        return bytes;
      },
      maxCacheSize: CACHE_BYTES,
      prefetchProfile: "fileSystem",
    });
  }

  private async bytes(start: number, stop: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(stop - start);
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesRead } = await this.file.read(bytes, done, bytes.length - done, start + done);
        if (bytesRead === 0) throw new Error("the file is shorter than it was");
        done += bytesRead;
      }
      this.uncollected += bytes.length;
      if (this.uncollected > COLLECT_EVERY_BYTES) {
        this.uncollected = 0;
        Bun.gc(true);
      }
      return bytes;
    } catch (error) {
      // Otherwise it would look like the end of a file that was cut off.
      this.isUnreadable = true;
      throw error;
    }
  }

  /** Tracks that have a packet: a recorder announces the microphone, and may be stopped before its first sound. */
  private async readable(tracks: readonly Library.InputTrack[]): Promise<MediaTrack[]> {
    checkTracks(tracks.length);
    const found: MediaTrack[] = [];
    for (const track of tracks) {
      if (!track.isVideoTrack() && !track.isAudioTrack()) continue;
      const sink = new this.library.EncodedPacketSink(track);
      if ((await track.getCodec()) !== null && (await sink.getFirstKeyPacket())) found.push(track);
    }
    if (found.length === 0) throw new Error("no frame in it can be read");
    return found;
  }
}

/** No frames are counted in an Ogg file: a recorder writes one track into it, and what is copied of it is compared with its size. */
async function mediaIn(file: FileHandle, format: RecordingFormat, size: number, end: number): Promise<CountedMedia> {
  if (format === "webm") return countWebm(file, size, end);
  if (format === "mp4") return countMp4(file, size);
  await checkOggTracks(file);
  return new Map();
}

/** The container stays the same. `headEnds` is called before the first frame of a WebM file is written. */
function outputFormat(
  library: typeof Library,
  format: RecordingFormat,
  headEnds: (at: number) => void,
): Library.OutputFormat {
  // With its index at the end, which players read first. In front it would need all of the file in memory, or the number of packets in advance.
  if (format === "mp4") return new library.Mp4OutputFormat({ fastStart: false });
  if (format === "ogg") return new library.OggOutputFormat();
  /** Browsers also write H.264 into WebM, which the format does not allow and every browser plays. */
  class AnyWebm extends library.WebMOutputFormat {
    override getSupportedCodecs(): Library.MediaCodec[] {
      return new library.MkvOutputFormat().getSupportedCodecs();
    }
  }
  return new AnyWebm({ onSegmentHeader: (data, position) => headEnds(position + data.length) });
}

/** `keysMs` gets the times of a video's key packets. */
async function copiedTrack(
  library: typeof Library,
  track: MediaTrack,
  output: Library.Output,
  keysMs: number[] | undefined,
): Promise<CopiedTrack> {
  const sink = new library.EncodedPacketSink(track);
  const first = await sink.getFirstKeyPacket();
  if (!first) throw new Error("a track has no packet any more");
  const next = (packet: Library.EncodedPacket): Promise<Library.EncodedPacket | null> => sink.getNextPacket(packet);
  return {
    number: track.id,
    first,
    next,
    ...(track.isVideoTrack() ? await video(library, track, output, keysMs) : await audio(library, track, output)),
  };
}

type Written = Pick<CopiedTrack, "add" | "close">;

async function video(
  library: typeof Library,
  track: Library.InputVideoTrack,
  output: Library.Output,
  keysMs: number[] | undefined,
): Promise<Written> {
  const [codec, decoderConfig] = [await track.getCodec(), await track.getDecoderConfig()];
  if (codec === null || decoderConfig === null) throw new Error("the codec of its video is not known");
  const source = new library.EncodedVideoPacketSource(codec);
  output.addVideoTrack(source, { transformationMatrix: await track.getTransformationMatrix() });
  return {
    add: (packet) => {
      if (packet.type === "key") keysMs?.push(Math.round(1000 * packet.timestamp));
      return source.add(packet, { decoderConfig });
    },
    close: () => source.close(),
  };
}

async function audio(
  library: typeof Library,
  track: Library.InputAudioTrack,
  output: Library.Output,
): Promise<Written> {
  const [codec, decoderConfig] = [await track.getCodec(), await track.getDecoderConfig()];
  if (codec === null || decoderConfig === null) throw new Error("the codec of its sound is not known");
  const source = new library.EncodedAudioPacketSource(codec);
  output.addAudioTrack(source);
  return { add: (packet) => source.add(packet, { decoderConfig }), close: () => source.close() };
}
