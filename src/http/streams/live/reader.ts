/** A request that waits for messages of a stream. */
import type { Caller } from "../caller.ts";

export interface LiveReader {
  /** Replaced when its key has changed and still permits it to read. */
  caller: Caller;
  readonly channel: string;
  /** There may be something for it. Returns how much work that makes later: 1 for a response of its own. */
  wake(): 0 | 1;
  /** Its stream is another one, it may not read any more, or the node stops: its client comes back. */
  end(): void;
  /** Once a second. */
  tick(nowMs: number): void;
}
