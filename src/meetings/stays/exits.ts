/** People are put out: their stays end in the store, which decides who does it, and their connections are closed on every node. */
import { type AppId, asAppId } from "../../base/ids.ts";
import { withBreaks } from "../../base/other-work.ts";
import { isObject } from "../../protocol/json.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { Floor, PutOut } from "../contract/floor.ts";
import { ENDING_ROUNDS, ROWS_AT_ONCE } from "../contract/limits.ts";
import type { Notices, RoomRef } from "../notices/notices.ts";
import type { Stays } from "./stays.ts";
import type { Upkeep } from "./upkeep.ts";

/** Asked of all nodes: close these stays; whether a connection of a stay is there. */
const CLOSE = "meetings.close";
const HERE = "meetings.here";
const REASONS: readonly unknown[] = ["time", "ended", "removed"] satisfies readonly PutOut[];

interface ExitParts {
  readonly store: Pick<MeetingStore, "openStays" | "endMeeting" | "ban">;
  readonly floor: Pick<Floor, "ask" | "on">;
  readonly stays: Pick<Stays, "end" | "endLater" | "closeHere" | "isHere" | "isExpected">;
  readonly upkeep: Pick<Upkeep, "meetingEnded">;
  readonly notices: Notices;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class Exits {
  constructor(private readonly parts: ExitParts) {
    parts.floor.on(CLOSE, (payload) => {
      if (!isObject(payload)) return 0;
      const { app, room, ids, reason, isWritten } = payload;
      if (typeof app !== "string" || typeof room !== "string" || !Array.isArray(ids) || !REASONS.includes(reason))
        return 0;
      let closed = 0;
      for (const id of ids)
        if (typeof id === "string")
          closed += this.closeHere(asAppId(app), room, id, reason as PutOut, isWritten === true);
      return closed;
    });
    parts.floor.on(HERE, (payload) => {
      const { room, id } = isObject(payload) ? payload : {};
      return typeof room === "string" && typeof id === "string" && parts.stays.isHere(room, id);
    });
  }

  /**
   * By the order of a node, which may be this one. That one may die before it could write the end of the stays, so each node that had a connection of one writes
   * it: the store would have the stay on that node for as long as other people are there.
   */
  private closeHere(app: AppId, room: string, id: string, reason: PutOut, isWritten: boolean): number {
    const { stays, nowMs } = this.parts;
    const wasHere = stays.isExpected(room, id);
    const closed = stays.closeHere(app, room, id, reason);
    if (wasHere && !isWritten && (reason === "time" || reason === "ended")) stays.endLater(id, reason, nowMs());
    return closed;
  }

  /** The time of these stays is over. */
  timeOver(room: RoomRef, ids: readonly string[]): Promise<void> {
    return this.putOut(room, ids, "time");
  }

  /** The secret key that these stays depend on has ended, or their meeting, and the store cannot be asked who else is in it. */
  async endStaysOf(room: RoomRef, ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.parts.notices.ending(room, 0, id)));
    await this.putOut(room, ids, "ended");
  }

  /** Stays of this node. They are closed before the store is asked: it may take seconds to fail, and no one may stay inside meanwhile. */
  private async putOut(room: RoomRef, ids: readonly string[], why: "time" | "ended"): Promise<void> {
    const { stays, nowMs } = this.parts;
    const atMs = nowMs();
    const closed = this.close(room, ids, why, false);
    for (const id of ids) stays.endLater(id, why, atMs);
    await closed;
  }

  /**
   * It must not come back into this meeting, as far as it can be recognised; other stays of the same user go with it. A token may be one that
   * many people share, so stays with the same token stay. Also one that has ended while its connection was open, on a node that could not reach the store or the
   * others for a while: its person still hears the meeting. false: it had ended before, and no node has a connection of it.
   */
  async remove(stay: StayRow): Promise<boolean> {
    const { app, room, meeting, accessToken, externalUserId } = stay;
    if (stay.ended !== null && !(await this.isConnected(stay))) return false;
    // The ban first: its page may come back the moment it is closed.
    await this.parts.store.ban(meeting, { accessToken, externalUserId });
    const isRemoved = await this.removeOne(stay);
    if (externalUserId !== null)
      for (const one of await this.parts.store.openStays(app, room))
        if (one.externalUserId === externalUserId && one.meeting === meeting) await this.removeOne(one);
    return isRemoved;
  }

  private async removeOne(stay: StayRow): Promise<boolean> {
    const { stays, notices, nowMs } = this.parts;
    const { id, app, room } = stay;
    if (!(await stays.end(id, "removed", nowMs())) && !(await this.isConnected(stay))) return false;
    await notices.removed({ app, room }, id);
    await this.close({ app, room }, [id], "removed", true);
    return true;
  }

  private async isConnected({ room, id }: StayRow): Promise<boolean> {
    const { floor, stays, failed } = this.parts;
    const answers = await floor.ask(HERE, { room, id }).catch((error: unknown) => {
      failed(error);
      return [stays.isHere(room, id)];
    });
    return answers.includes(true);
  }

  /** For everyone. Returns how many were put out. */
  async endMeeting({ id: meeting, app, room }: MeetingRow): Promise<number> {
    const { store, upkeep } = this.parts;
    let count = 0;
    // A person may enter between the two calls of the store: then once more.
    for (let round = 0; round < ENDING_ROUNDS; round++) {
      const open = (await store.openStays(app, room)).filter((stay) => stay.meeting === meeting);
      await this.endStays({ app, room }, open);
      count += open.length;
      const ended = await store.endMeeting(meeting);
      if (ended) await upkeep.meetingEnded(ended);
      if (ended || open.length === 0) break;
    }
    return count;
  }

  private async endStays(room: RoomRef, open: readonly StayRow[]): Promise<void> {
    const { stays, nowMs, notices } = this.parts;
    if (open.length === 0) return;
    for await (const { id } of withBreaks(open, ROWS_AT_ONCE)) await stays.end(id, "ended", nowMs());
    await notices.ending(room, 0);
    await this.close(
      room,
      open.map(({ id }) => id),
      "ended",
      true,
    );
  }

  /** The stays have ended: their connections are closed on every node. `isWritten`: the store has it already. */
  private async close(
    { app, room }: RoomRef,
    ids: readonly string[],
    reason: PutOut,
    isWritten: boolean,
  ): Promise<void> {
    await this.parts.floor.ask(CLOSE, { app, room, ids, reason, isWritten }).catch(this.parts.failed);
  }
}
