/**
 * Shows admins the whole queue of a room after each change. Several changes together are shown once. Two nodes may read the queue in one order and publish it in
 * the other, so each reads it again a moment later and publishes it anew if it is another one by then.
 */
import type { MeetingStore } from "../../store/contract/meetings.ts";
import { QUEUE_SETTLES_MS } from "../contract/limits.ts";
import type { Notices, Queued, RoomRef } from "./notices.ts";

export class QueueNotices {
  /** By the room's id, while its queue is being shown; true: it has changed meanwhile. Bound: rooms with a change in the last moment. */
  private readonly showing = new Map<string, boolean>();

  constructor(
    private readonly store: Pick<MeetingStore, "waiting" | "current">,
    private readonly notices: Pick<Notices, "waiting" | "locked">,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Also when an admin wants to see it. */
  changed(room: RoomRef): void {
    const isShowing = this.showing.has(room.room);
    this.showing.set(room.room, isShowing);
    if (!isShowing)
      void this.show(room).catch((error: unknown) => {
        this.showing.delete(room.room);
        this.failed(error);
      });
  }

  private async show(room: RoomRef): Promise<void> {
    let shown: string | undefined;
    for (;;) {
      const isWanted = shown === undefined || this.showing.get(room.room) === true;
      this.showing.set(room.room, false);
      const queue = await this.queue(room);
      const text = JSON.stringify(queue);
      if (isWanted || text !== shown) {
        await this.notices.waiting(room, queue);
        if (isWanted) await this.repeatLock(room);
        shown = text;
        await Bun.sleep(QUEUE_SETTLES_MS);
      } else if (this.showing.get(room.room) !== true) {
        this.showing.delete(room.room);
        return;
      }
    }
  }

  /** An admin that comes into a locked meeting did not see that it was locked. Pages ignore a notice that they know. */
  private async repeatLock(room: RoomRef): Promise<void> {
    const meeting = await this.store.current(room.app, room.room);
    if (meeting?.isLocked) await this.notices.locked(room, true);
  }

  private async queue({ app, room }: RoomRef): Promise<Queued[]> {
    const rows = await this.store.waiting(app, room);
    return rows.map(({ waitId, name, since }) => ({ waitId, name, since }));
  }
}
