/**
 * Notices that could not be published, as while NATS is unavailable. What they were about is remembered, and not what they said: when notices can be published again,
 * everyone gets what is true by then. Without this a page would record on after the recording was stopped, or a visitor who was let in would never hear of it.
 */
import type { AppId } from "../../base/ids.ts";
import { SharedMap } from "../../base/shared-map.ts";
import { MISSED_MAX, MISSED_REPEATED_AT_ONCE } from "../contract/limits.ts";

/** What a notice was about: something that the store knows. */
export type Subject = "recording" | "locked" | "flags" | "waiting" | "hosts" | "answer";

export interface Missed {
  /** The application's id, and the room's. */
  readonly room: { readonly app: AppId; readonly room: string };
  readonly subject: Subject;
  /** The visitor who gets the answer. */
  readonly waitId?: string | undefined;
}

export class MissedNotices {
  /** By what they are about. Bound: MISSED_MAX; the oldest of the application that has the most is given up. */
  private readonly missed = new SharedMap<Missed>(MISSED_MAX);
  private hasFailed = false;

  get size(): number {
    return this.missed.size;
  }

  add(one: Missed): void {
    this.hasFailed = true;
    const key = [one.subject, one.room.room, one.waitId].join(" ");
    // Behind the others: one that fails for a reason of its own must not keep them waiting.
    this.missed.set(one.room.app, key, one);
  }

  /** Every few seconds. What fails again is added again; while that is so, one at a time is tried. */
  async repeat(publish: (one: Missed) => void | Promise<void>, failed: (error: unknown) => void): Promise<void> {
    const count = this.hasFailed ? 1 : MISSED_REPEATED_AT_ONCE;
    this.hasFailed = false;
    for (const [key, one] of this.next(count)) {
      this.missed.delete(one.room.app, key);
      try {
        await publish(one);
      } catch (error) {
        // The store could not be read.
        this.add(one);
        failed(error);
      }
    }
  }

  /** The oldest of each application, then the next of each: one that has very many does not keep the others waiting. */
  private next(count: number): (readonly [key: string, one: Missed])[] {
    const byApp = [...Map.groupBy(this.missed, ([, { room }]) => room.app).values()];
    const next: (readonly [string, Missed])[] = [];
    for (let place = 0; next.length < Math.min(count, this.missed.size); place++)
      next.push(...byApp.flatMap((ofApp) => ofApp.slice(place, place + 1)).slice(0, count - next.length));
    return next;
  }
}
