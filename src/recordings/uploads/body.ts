/** The body of an upload request: counted, limited in size, and with a stall timeout. */
import { Problem } from "../../protocol/codes.ts";

interface Reader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** How often it is asked whether a body may go on. */
const ASK_EVERY_MS = 1000;

/** How many bytes of a body are taken. */
export interface BodyLimit {
  /** This many, before `more` is asked. */
  readonly first: number;
  /** `count` have come, and there are `wanted` at least. How many are taken; bytes beyond them are dropped, and reading then fails with `tooMany`. */
  readonly more: (count: number, wanted: number) => Promise<number>;
  readonly tooMany: () => Problem;
}

/** How slowly a body may come. Only the time counts in which it is waited for, not that in which its bytes are being stored. */
export interface Pace {
  readonly minBytes: number;
  /** In each of these times `minBytes` must come. */
  readonly everyMs: number;
  /** For the whole body. */
  readonly maxMs: number;
}

/** What ends a body that would go on. */
export interface BodyWatch {
  /** Asked while a body takes longer than ASK_EVERY_MS, however few bytes come: why nothing more of it is taken. Never rejects. */
  readonly ask: () => Promise<Problem | undefined>;
  readonly pace: Pace;
}

export class UploadBody {
  /** Bytes that were read from it. */
  count = 0;
  private granted: number;
  private refusal: Problem | undefined;
  private waitedMs = 0;
  private waitingSince: number | undefined;
  /** What had come when the pace was last looked at. */
  private paced = { waitedMs: 0, count: 0 };

  constructor(
    private readonly body: ReadableStream<Uint8Array>,
    private readonly limit: BodyLimit,
    private readonly silenceMaxMs: number,
    private readonly watch?: BodyWatch,
  ) {
    this.granted = limit.first;
  }

  /** Throws a Problem when no byte comes for `silenceMaxMs`, when the connection is cut, when there are too many bytes, or what `watch` says. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    const reader = this.body.getReader();
    const { watch } = this;
    // No boundary: it cancels a reader, which rejects and does not throw.
    const timer = watch && setInterval(() => void this.refuseIf(watch, reader), ASK_EVERY_MS);
    try {
      for (;;) {
        const chunk = await this.next(reader);
        if (!chunk) return;
        const wanted = this.count + chunk.length;
        if (wanted > this.granted) this.granted = await this.limit.more(this.count, wanted);
        const piece = chunk.subarray(0, Math.max(0, this.granted - this.count));
        this.count += piece.length;
        if (piece.length > 0) yield piece;
        const isTooMuch = piece.length < chunk.length;
        release(chunk);
        if (isTooMuch) throw this.limit.tooMany();
      }
    } finally {
      clearInterval(timer);
      await reader.cancel().catch(() => undefined);
    }
  }

  private async refuseIf({ ask, pace }: BodyWatch, reader: Reader): Promise<void> {
    this.refusal ??= this.tooSlow(pace) ?? (await ask());
    if (this.refusal) await reader.cancel().catch(() => undefined);
  }

  private tooSlow({ minBytes, everyMs, maxMs }: Pace): Problem | undefined {
    const waitedMs = this.waitedMs + (this.waitingSince === undefined ? 0 : performance.now() - this.waitingSince);
    if (waitedMs >= maxMs) return slow(`A request can last at most ${maxMs / 1000} seconds`);
    const { paced, count } = this;
    if (waitedMs - paced.waitedMs < everyMs) return undefined;
    this.paced = { waitedMs, count };
    if (count - paced.count >= minBytes) return undefined;
    return slow(`Fewer than ${minBytes} bytes arrived in ${everyMs / 1000} seconds`);
  }

  private async next(reader: Reader): Promise<Uint8Array | undefined> {
    let isSilent = false;
    // No boundary: as above.
    const timer = setTimeout(() => {
      isSilent = true;
      void reader.cancel().catch(() => undefined);
    }, this.silenceMaxMs);
    const since = performance.now();
    this.waitingSince = since;
    try {
      const { value } = await reader.read();
      if (this.refusal) throw this.refusal;
      if (isSilent) throw new Problem("upload_stalled");
      return value;
    } catch (error) {
      // The client is gone and cannot read this answer, but a cut connection must not be logged as a fault of the node.
      throw error instanceof Problem ? error : new Problem("upload_stalled", "The connection was cut.");
    } finally {
      clearTimeout(timer);
      this.waitedMs += performance.now() - since;
      this.waitingSince = undefined;
    }
  }
}

const slow = (why: string): Problem => new Problem("upload_stalled", `${why}. Continue from the stored offset.`);

/** Frees the chunk's memory at once: until the garbage collector does it, a fast sender can fill a hundred megabytes. */
function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
