/** The bytes of a request on their way into the storage: counted, bounded, and not waited for for ever. */
import { Problem } from "../protocol/codes.ts";

interface Reader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export class Incoming {
  /** How many were handed on. */
  count = 0;

  constructor(
    private readonly body: ReadableStream<Uint8Array>,
    /** More than these are not handed on. */
    private readonly maxBytes: number,
    private readonly tooMany: () => Problem,
    private readonly silenceMaxMs: number,
  ) {}

  /** Throws a Problem when the bytes stop coming, or do not stop. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    const reader = this.body.getReader();
    try {
      for (;;) {
        const chunk = await this.next(reader);
        if (!chunk) return;
        const piece = chunk.subarray(0, this.maxBytes - this.count);
        this.count += piece.length;
        if (piece.length > 0) yield piece;
        if (piece.length < chunk.length) throw this.tooMany();
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  private async next(reader: Reader): Promise<Uint8Array | undefined> {
    let isSilent = false;
    const timer = setTimeout(() => {
      isSilent = true;
      void reader.cancel().catch(() => undefined);
    }, this.silenceMaxMs);
    try {
      const { value } = await reader.read();
      if (isSilent) throw new Problem("upload_stalled");
      return value;
    } catch (error) {
      // The connection is gone: nobody will read this answer, but it is no fault of ours either.
      throw error instanceof Problem ? error : new Problem("upload_stalled", "The connection was cut.");
    } finally {
      clearTimeout(timer);
    }
  }
}
