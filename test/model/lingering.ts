/** A member without a connection that the others may still be shown. */
import type { Connection, Subscription } from "./model.ts";

export interface Lingering {
  /** The connection that has ended. */
  readonly connection: Connection;
  readonly subscription: Subscription;
  readonly channel: string;
  readonly why: "lost" | "held";
  readonly sinceMs: number;
  /** It stays at least until the first, and at most until the second: connections may have ended some time before they are read. */
  readonly untilMs: number;
  readonly latestMs: number;
  /** Its state in the channel, as JSON; several if it is not certain. */
  states: ReadonlySet<string>;
  /** False: whether the others still see it is not decided, because it was never shown, or the peer has come back in part. */
  isSure: boolean;
  /** The peer has connected since. */
  isBack: boolean;
}
