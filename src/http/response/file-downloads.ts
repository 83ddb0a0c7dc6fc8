/**
 * Files that this process sends to operators piece by piece, and how many there may be at once. They are not handed to the runtime as a whole, also where
 * it could read them itself: it would send them to their end, whatever becomes of the operator meanwhile.
 */
import { Problem } from "../../protocol/codes.ts";

const RETRY_SECONDS = 1;

export interface Pieces {
  readonly pieces: AsyncGenerator<Uint8Array, undefined>;
  /** Called before each piece; throws if the client may not read it any more. */
  readonly check: () => unknown;
  /** The client's access has ended: the file is cut at once, also if the client takes nothing at the moment. */
  readonly until: AbortSignal;
  /** Logs why the file could not be sent to its end. */
  readonly logIncomplete: (error: unknown) => void;
}

export class FileDownloads {
  private count = 0;

  constructor(private readonly max: number) {}

  get size(): number {
    return this.count;
  }

  /**
   * A body that reads a piece when the client has taken the one before it. The first piece is read at once, so that a file that cannot
   * be read is refused with a status. A later failure cuts the connection.
   */
  async begin({ pieces, check, until, logIncomplete }: Pieces): Promise<ReadableStream> {
    if (this.count >= this.max)
      throw new Problem("rate_limited", "Too many files are being sent at once; try again later.", RETRY_SECONDS);
    this.count++;
    let isOver = false;
    let cutNow = (): void => undefined;
    const end = (): void => {
      if (!isOver) this.count--;
      isOver = true;
      until.removeEventListener("abort", cutNow);
    };
    const first = await pieces.next().catch((error: unknown) => {
      end();
      throw error;
    });
    let waiting: IteratorResult<Uint8Array, undefined> | undefined = first;
    const cut = (controller: ReadableStreamDefaultController, error: unknown): void => {
      if (isOver) return;
      end();
      logIncomplete(error);
      // Without a reason: Bun would print it, and the log has it already.
      controller.error();
    };
    return new ReadableStream(
      {
        start: (controller) => {
          cutNow = () => {
            cut(controller, new Problem("unauthorized", "The operator's access has ended."));
            void pieces.return(undefined).catch(() => undefined);
          };
          until.addEventListener("abort", cutNow);
        },
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
            cut(controller, error);
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
