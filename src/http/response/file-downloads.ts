/**
 * Files that this process sends to operators piece by piece, and how many there may be at once. They are not handed to the runtime as a whole, also where
 * it could read them itself: it would send them to their end, whatever becomes of the operator meanwhile.
 */
import { Problem } from "../../protocol/codes.ts";

const RETRY_SECONDS = 1;

/** What is sent may hold up others: a client that takes nothing of it is not waited for forever. */
export class ClientPaused extends Error {
  constructor(pauseMs: number) {
    super(`the client has read nothing for ${pauseMs / 1000} seconds`);
  }
}

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

  constructor(
    private readonly max: number,
    /** Default: a client may pause for as long as it likes. */
    private readonly limits: { readonly pauseMaxMs?: number } = {},
  ) {}

  get size(): number {
    return this.count;
  }

  /**
   * A body that reads a piece when the client has taken the one before it. The first piece is read at once, so that a file that cannot
   * be read is refused with a status. A later failure cuts the connection.
   */
  async begin({ pieces, check, until, logIncomplete }: Pieces): Promise<ReadableStream> {
    if (this.count >= this.max)
      throw new Problem("rate_limited", "Too many files are being sent at once. Try again later.", RETRY_SECONDS);
    this.count++;
    const { pauseMaxMs } = this.limits;
    let isOver = false;
    let cutNow = (_: Error): void => undefined;
    const ended = (): void => cutNow(new Problem("unauthorized", "The operator's access has ended."));
    let pausing: Timer | undefined;
    const pause = (): void => {
      if (pauseMaxMs === undefined || isOver) return;
      // No boundary: it logs, and errors a stream that is open, which does not throw.
      pausing = setTimeout(() => cutNow(new ClientPaused(pauseMaxMs)), pauseMaxMs);
    };
    const end = (): void => {
      if (!isOver) this.count--;
      isOver = true;
      clearTimeout(pausing);
      until.removeEventListener("abort", ended);
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
          cutNow = (error) => {
            cut(controller, error);
            void pieces.return(undefined).catch(() => undefined);
          };
          until.addEventListener("abort", ended);
          pause();
        },
        async pull(controller) {
          clearTimeout(pausing);
          try {
            check();
            const { value } = waiting ?? (await pieces.next());
            waiting = undefined;
            if (isOver) return;
            if (value) {
              pause();
              return controller.enqueue(value);
            }
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
