/** Files that this process sends piece by piece from a storage that it cannot hand to the runtime: how many there may be at once. */
import { Problem } from "../protocol/codes.ts";
import { FILE_STREAMS_MAX } from "./limits.ts";

const RETRY_SECONDS = 1;

export interface Pieces {
  readonly pieces: AsyncGenerator<Uint8Array, undefined>;
  /** Called before each piece; throws if the client may not read it any more. */
  readonly check: () => unknown;
  /** Logs why the file could not be sent to its end. */
  readonly logIncomplete: (error: unknown) => void;
}

export class FileStreams {
  private count = 0;

  get size(): number {
    return this.count;
  }

  /**
   * A body that reads a piece when the client has taken the one before it. The first piece is read at once, so that a file that cannot
   * be read is refused with a status. A later failure cuts the connection.
   */
  async begin({ pieces, check, logIncomplete }: Pieces): Promise<ReadableStream> {
    if (this.count >= FILE_STREAMS_MAX)
      throw new Problem("rate_limited", "Too many files are being sent at once; try again later.", RETRY_SECONDS);
    this.count++;
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.count--;
      isOver = true;
    };
    const first = await pieces.next().catch((error: unknown) => {
      end();
      throw error;
    });
    let waiting: IteratorResult<Uint8Array, undefined> | undefined = first;
    return new ReadableStream(
      {
        async pull(controller) {
          try {
            check();
            const { value } = waiting ?? (await pieces.next());
            waiting = undefined;
            if (isOver) return;
            if (value) return controller.enqueue(value);
            end();
            controller.close();
          } catch (error) {
            if (isOver) return;
            end();
            logIncomplete(error);
            // Without a reason: Bun would print it, and the log has it already.
            controller.error();
          }
        },
        async cancel() {
          end();
          await pieces.return(undefined);
        },
      },
      { highWaterMark: 0 },
    );
  }
}
