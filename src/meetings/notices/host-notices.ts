/**
 * Shows people who wait whether a host is inside: when the first one comes or the last one goes, and to each who begins to listen. Several wishes together are one
 * notice. Two nodes may read the state in one order and publish it in the other, so each reads it again a moment later and publishes it anew if it
 * is another one by then.
 */
import type { MeetingStore } from "../../store/contract/meetings.ts";
import { HOSTS_SETTLE_MS } from "../contract/limits.ts";
import type { Notices, RoomRef } from "./notices.ts";

/** Who is to be shown it. */
interface Wish {
  isForAll: boolean;
  /** Bound: those who wait for one room, LOBBY_MAX. */
  readonly waitIds: Set<string>;
}

const noWish = (): Wish => ({ isForAll: false, waitIds: new Set() });

export class HostNotices {
  /** By the room's id, while its state is being shown. Bound: rooms with a change or a newcomer in the last moment. */
  private readonly showing = new Map<string, Wish>();
  private isStopped = false;

  constructor(
    private readonly store: Pick<MeetingStore, "waiting" | "openStays">,
    private readonly notices: Pick<Notices, "hosts">,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** A host has come or gone. */
  changed(room: RoomRef): void {
    this.wish(room).isForAll = true;
  }

  /** This visitor does not know it yet. */
  wanted(room: RoomRef, waitId: string): void {
    this.wish(room).waitIds.add(waitId);
  }

  /** Nothing is read any more: the store is about to be closed. */
  stop(): void {
    this.isStopped = true;
  }

  private wish({ app, room }: RoomRef): Wish {
    const before = this.showing.get(room);
    if (before) return before;
    const wish = noWish();
    this.showing.set(room, wish);
    void this.show({ app, room }).catch((error: unknown) => {
      this.showing.delete(room);
      this.failed(error);
    });
    return wish;
  }

  private async show(room: RoomRef): Promise<void> {
    let shown: boolean | undefined;
    for (;;) {
      // After the wish was made: the caller adds to it.
      await Promise.resolve();
      const { isForAll, waitIds } = this.showing.get(room.room) ?? noWish();
      this.showing.set(room.room, noWish());
      const inside = await this.hasHost(room);
      const isOther = shown !== undefined && shown !== inside;
      const to = isForAll || isOther ? await this.waiting(room) : [...waitIds];
      if (to.length === 0 && this.isIdle(room)) {
        this.showing.delete(room.room);
        return;
      }
      for (const waitId of to) await this.notices.hosts(room, waitId, inside);
      shown = inside;
      if (to.length > 0) await Bun.sleep(HOSTS_SETTLE_MS);
      if (this.isStopped) return;
    }
  }

  private isIdle({ room }: RoomRef): boolean {
    const wish = this.showing.get(room);
    return !wish || (!wish.isForAll && wish.waitIds.size === 0);
  }

  private async hasHost({ app, room }: RoomRef): Promise<boolean> {
    return (await this.store.openStays(app, room)).some(({ isAdmin }) => isAdmin);
  }

  private async waiting({ app, room }: RoomRef): Promise<string[]> {
    return (await this.store.waiting(app, room)).map(({ waitId }) => waitId);
  }
}
