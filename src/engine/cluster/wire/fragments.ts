/**
 * Texts above the payload limit of the transport are sent in fragments. The header of a fragment names the sender, the text and the
 * part; the receiver joins them. The fragments of a text are published one after another on one subject, so they arrive in order. If
 * one is lost, the whole text is lost, and the receiver notices it like any other loss: by a gap in the sequence numbers, or by a
 * missing response.
 */
import { PAYLOAD_MIN_BYTES } from "../../transport/transport.ts";
import { TEXT_MAX_BYTES } from "./payload.ts";

/** "+": marks a fragment. All other payloads begin with "[". */
const MARK = 0x2b;
const LINE_END = 0x0a;
const HEADER_MAX_BYTES = 64;
/** Smallest fragment, except the last of a text: smaller ones would cost more memory than they carry. */
const FRAGMENT_MIN_BYTES = PAYLOAD_MIN_BYTES - HEADER_MAX_BYTES;
/** A text whose next fragment does not arrive within this time is dropped: its fragments are published all at once. */
export const INCOMPLETE_MS = 10_000;
/** Fragments of the longest text at the smallest payload limit; a header that announces more is refused. */
const FRAGMENTS_MAX = Math.ceil(TEXT_MAX_BYTES / FRAGMENT_MIN_BYTES);
/** Bound: incomplete texts at one time, one per sender; the oldest is dropped first. */
const INCOMPLETE_MAX = 64;

/** `sender` and `number` together identify the text. */
export function fragmentsOf(bytes: Uint8Array, sender: string, number: number, payloadMaxBytes: number): Uint8Array[] {
  const size = payloadMaxBytes - HEADER_MAX_BYTES;
  const parts = Math.ceil(bytes.length / size);
  return Array.from({ length: parts }, (_, part) =>
    Buffer.concat([
      Buffer.from(`+${sender} ${number} ${part} ${parts}\n`),
      bytes.subarray(part * size, (part + 1) * size),
    ]),
  );
}

interface Fragment {
  readonly sender: string;
  readonly number: number;
  readonly part: number;
  readonly parts: number;
  readonly bytes: Uint8Array;
}

interface Incomplete {
  readonly number: number;
  readonly parts: number;
  readonly fragments: Uint8Array[];
  bytes: number;
  lastMs: number;
}

export class Fragments {
  /**
   * By sender, in the order of their newest fragments. Bound: INCOMPLETE_MAX texts of TEXT_MAX_BYTES, each for INCOMPLETE_MS
   * after its last fragment; the oldest is dropped and repaired like any loss.
   */
  private readonly incomplete = new Map<string, Incomplete>();
  private readonly decoder = new TextDecoder();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** The number of incomplete texts. */
  get size(): number {
    return this.incomplete.size;
  }

  /** The text that this payload is, or completes. undefined: fragments are missing, or the payload is invalid. */
  take(payload: Uint8Array): string | undefined {
    if (payload.length > TEXT_MAX_BYTES) return "";
    if (payload[0] !== MARK) return this.decoder.decode(payload);
    const fragment = fragmentIn(payload);
    return fragment && this.add(fragment);
  }

  /** Drops texts whose next fragment has not arrived in time. */
  sweep(): void {
    const before = this.nowMs() - INCOMPLETE_MS;
    for (const [sender, { lastMs }] of this.incomplete) {
      if (lastMs > before) return;
      this.incomplete.delete(sender);
    }
  }

  private add({ sender, number, part, parts, bytes }: Fragment): string | undefined {
    const begun = this.incomplete.get(sender);
    const isNext = begun?.number === number && begun.parts === parts && begun.fragments.length === part;
    // A sender sends one text at a time: any other fragment than the next one means that one was lost.
    this.incomplete.delete(sender);
    const one = part === 0 ? { number, parts, fragments: [], bytes: 0, lastMs: 0 } : isNext ? begun : undefined;
    if (!one || one.bytes + bytes.length > TEXT_MAX_BYTES) return undefined;
    // A copy: the payload is a view that would keep the socket's whole read buffer in memory. `slice` of a Buffer is a view too.
    one.fragments.push(new Uint8Array(bytes));
    one.bytes += bytes.length;
    one.lastMs = this.nowMs();
    if (one.fragments.length === parts) return this.decoder.decode(Buffer.concat(one.fragments));
    this.incomplete.set(sender, one);
    if (this.incomplete.size > INCOMPLETE_MAX) this.incomplete.delete(this.incomplete.keys().next().value ?? "");
    return undefined;
  }
}

const HEADER = /^\+([\w-]{1,32}) (\d{1,15}) (\d{1,7}) (\d{1,7})$/;

function fragmentIn(payload: Uint8Array): Fragment | undefined {
  const end = payload.subarray(0, HEADER_MAX_BYTES).indexOf(LINE_END);
  const found = end < 0 ? null : HEADER.exec(Buffer.from(payload.subarray(0, end)).toString("latin1"));
  if (!found) return undefined;
  const [, sender = "", number, part, parts] = found;
  const bytes = payload.subarray(end + 1);
  if (Number(part) >= Number(parts) || Number(parts) > FRAGMENTS_MAX || bytes.length === 0) return undefined;
  if (Number(part) < Number(parts) - 1 && bytes.length < FRAGMENT_MIN_BYTES) return undefined;
  return { sender, number: Number(number), part: Number(part), parts: Number(parts), bytes };
}
