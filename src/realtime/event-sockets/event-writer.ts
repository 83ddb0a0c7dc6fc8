/**
 * Writes what sockets over HTTP have noted, in slices: a message to thousands of them would stall the node. The order of one socket is that in which
 * it noted its events, of one sender or of several.
 */
import type { Clock } from "../../base/clock.ts";
import type { Faults } from "../../telemetry/faults.ts";

/** What is passed to the runtime within this time takes it about twice as long to write. */
const SLICE_MS = 2;
/** Sockets between two looks at the clock. */
const STEP = 16;

export interface Writable {
  /** `hasSettled`: the runtime has had the time to write what it was given before. Does not throw. */
  write(hasSettled: boolean): void;
}

interface EventWriterParts {
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly faults: Pick<Faults, "guarded">;
}

export class EventWriter {
  /** Bound: one per connection over HTTP. */
  private waiting: Writable[] = [];
  private at = 0;
  private state: "idle" | "thisTurn" | "later" = "idle";

  constructor(private readonly parts: EventWriterParts) {}

  /** It is called once until `write` of that socket is. */
  schedule(socket: Writable): void {
    this.waiting.push(socket);
    if (this.state !== "idle") return;
    this.state = "thisTurn";
    queueMicrotask(this.parts.faults.guarded("socket", () => this.slice(false)));
  }

  /** The same, but not before the next turn. */
  scheduleLater(socket: Writable): void {
    this.waiting.push(socket);
    if (this.state === "idle") this.later();
  }

  private later(): void {
    this.state = "later";
    this.parts.clock.after(0, () => this.slice(true));
  }

  private slice(hasSettled: boolean): void {
    const { clock } = this.parts;
    const untilMs = clock.monotonicMs() + SLICE_MS;
    // Those that are added meanwhile wait for the next slice: what was just written needs the time between.
    const end = this.waiting.length;
    try {
      while (this.at < end) {
        this.waiting[this.at++]?.write(hasSettled);
        if (this.at % STEP === 0 && clock.monotonicMs() >= untilMs) break;
      }
    } finally {
      this.waiting.splice(0, this.at);
      this.at = 0;
      if (this.waiting.length > 0) this.later();
      else this.state = "idle";
    }
  }
}
