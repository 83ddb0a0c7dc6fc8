/** A subscription that first gets earlier messages of its channel: how far it is. replays.ts decides and writes. */
import type { StoredMessage } from "../../history/contract/history.ts";
import type { Start } from "../../protocol/subscribe-options.ts";
import type { Subscription } from "./subscription.ts";

interface Passing {
  readonly offset: number;
  readonly run: () => void;
}

export class Replay {
  /** `deciding`: from where is not known yet, and the subscribe is not acked. `following`: messages are being written. */
  stage: "deciding" | "following" | "ended" = "deciding";
  /** The last message that this subscription was sent, or that was left out of it. */
  cursor = 0;
  check: string | undefined;
  /** Messages up to this offset are replayed; those behind it were published meanwhile. */
  upTo = 0;
  /** Monotonic ms: it must be live by then. Not decided while it waits to be served first, which is not its client's fault. */
  untilMs = Number.POSITIVE_INFINITY;
  isReading = false;
  /** Decides from where it begins; `undefined` once that has been called. */
  begin: (() => void) | undefined;
  /** The length of the frame that there was no room for; 0 if it is not known. */
  neededBytes = 0;
  /**
   * What was read from the store, behind the cursor. Dropped when the client does not read. Bound: READ_MAX_BYTES;
   * REPLAY_MAX_BYTES for LONG_READS_MAX of them.
   */
  buffer: readonly StoredMessage[] = [];
  /** Repeated subscribes, which are acked behind this one. Bound: the rate of frames for REPLAY_MAX_MS. */
  readonly whenAcked: (() => void)[] = [];
  /** Bound: the uncommitted messages of its connection, within REPLAY_MAX_MS. */
  private readonly passing: Passing[] = [];

  /** Read once: it is compared with every message, and made with every use. */
  private readonly ownId: string;

  constructor(
    readonly subscription: Subscription,
    readonly start: Start,
  ) {
    this.ownId = subscription.connection.id;
  }

  /** Messages of this connection, and of the one before it, are left out: the client has them. */
  leavesOut(publisher: string): boolean {
    return publisher === this.ownId || (this.start.kind === "recover" && publisher === this.start.connection);
  }

  /** The message behind the cursor, if it was read. */
  get buffered(): StoredMessage | undefined {
    const { buffer, cursor } = this;
    const [first] = buffer;
    return first && buffer[cursor + 1 - first.offset];
  }

  passTo(offset: number, check: string | undefined): void {
    this.cursor = offset;
    this.check = check;
    for (let first = this.passing[0]; first && first.offset <= offset + 1; first = this.passing[0]) {
      this.passing.shift();
      first.run();
    }
  }

  /** Calls back when the subscription was sent all messages before this offset, or has ended. */
  whenPassed(offset: number, run: () => void): void {
    if (this.stage === "following" && offset <= this.cursor + 1) run();
    else this.passing.push({ offset, run });
  }

  end(): void {
    this.stage = "ended";
    this.buffer = [];
    for (const { run } of this.passing.splice(0)) run();
  }
}
