/** Copies the packets of all tracks in the order of their times, so that the writer never has to hold more than a few of them. */
import type { EncodedPacket } from "mediabunny";
import { DURATION_MAX_SECONDS } from "../limits.ts";
import type { WrittenTrack } from "./count.ts";

/** One track on its way from the input to the output. */
export interface CopiedTrack {
  /** Its number in the input. */
  readonly number: number;
  readonly first: EncodedPacket;
  /** null: that was the last one. */
  readonly next: (packet: EncodedPacket) => Promise<EncodedPacket | null>;
  readonly add: (packet: EncodedPacket) => Promise<void>;
  readonly close: () => void;
}

export interface Copied {
  readonly durationMs: number;
  /** How much of the input was written, with what a container needs per packet. */
  readonly accountedBytes: number;
  /** In their order. The output numbers its tracks from 1. */
  readonly tracks: readonly WrittenTrack[];
}

/** How long the last packet of a track lasts is not known. Pictures of a screen, or of a busy machine, can be many seconds apart. */
const LAST_MAX_SECONDS = 0.5;
/** About what the input spends on the header of a packet. */
const HEADER_BYTES = 32;

export async function copyPackets(tracks: readonly CopiedTrack[]): Promise<Copied> {
  const origin = Math.min(...tracks.map(({ first }) => first.timestamp));
  const copies = tracks.map((track) => new Copy(track, origin));
  // The track that is furthest behind is next, also if its next packet is far ahead: the writer waits for it in any case, and would have to
  // hold everything of the other tracks until then.
  for (let behind = furthestBehind(copies); behind; behind = furthestBehind(copies)) await behind.step();
  const seconds = Math.max(...copies.map(({ end }) => end));
  if (seconds === 0 && copies.some(({ packets }) => packets > 1))
    throw new Error("all of its frames have the same time");
  return {
    durationMs: Math.round(1000 * seconds),
    accountedBytes: copies.reduce((sum, { bytes }) => sum + bytes, 0),
    tracks: copies.map(({ leftOut }, at) => ({ input: tracks[at]?.number ?? 0, output: at + 1, leftOut })),
  };
}

const furthestBehind = (copies: readonly Copy[]): Copy | undefined =>
  copies.filter(({ isDone }) => !isDone).sort((a, b) => a.start - b.start)[0];

class Copy {
  isDone = false;
  /** When the last packet begins, in seconds after the origin. */
  start = Number.NEGATIVE_INFINITY;
  /** The latest end of all packets. */
  end = 0;
  /** How much of the input was written, with what a container needs per packet. */
  bytes = 0;
  packets = 0;
  readonly leftOut = { frames: 0, bytes: 0 };
  private latest = Number.NEGATIVE_INFINITY;
  private duration = 0;
  private packet: EncodedPacket | null;

  constructor(
    private readonly track: CopiedTrack,
    private readonly origin: number,
  ) {
    this.packet = track.first;
  }

  async step(): Promise<void> {
    const { packet, track } = this;
    if (!packet) {
      this.isDone = true;
      return track.close();
    }
    const timestamp = packet.timestamp - this.origin;
    if (!(Math.abs(timestamp) < DURATION_MAX_SECONDS)) throw new Error("its times are not those of a recording");
    // Negative: a video that begins with frames which are shown before its first one.
    const isUsable = timestamp >= 0;
    // The last packet of a track has no other one behind it that would say how long it lasts.
    this.duration = Math.min(packet.duration, DURATION_MAX_SECONDS) || Math.min(this.duration, LAST_MAX_SECONDS);
    const { duration } = this;
    if (isUsable) await track.add(packet.clone({ timestamp, duration, type: this.typeOf(packet, timestamp) }));
    this.count(packet, isUsable);
    this.start = Math.max(this.start, timestamp);
    this.latest = Math.max(this.latest, timestamp);
    this.end = Math.max(this.end, timestamp + duration);
    // A packet that cannot be read ends its track. What was copied until then counts, and remux.ts compares it with the input.
    this.packet = await track.next(packet).catch(() => null);
  }

  private count({ byteLength }: EncodedPacket, isWritten: boolean): void {
    if (isWritten) {
      this.bytes += byteLength + HEADER_BYTES;
      this.packets++;
    } else {
      this.leftOut.frames++;
      this.leftOut.bytes += byteLength;
    }
  }

  /** A key packet must not be earlier than one before it: as another packet of that group it is accepted. */
  private typeOf({ type }: EncodedPacket, timestamp: number): "key" | "delta" {
    return timestamp < this.latest ? "delta" : type;
  }
}
