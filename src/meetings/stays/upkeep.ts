/**
 * Work in the background about stays, on every node: beats while people are on this one, and the end of stays that have no connection any
 * more, whichever node had it. Empty meetings end here.
 */
import { STAY_GRACE_SEC } from "../../access/keys/room-rules.ts";
import type { AppId } from "../../base/ids.ts";
import { otherWork, withBreaks } from "../../base/other-work.ts";
import { chatChannel } from "../../protocol/room-channels.ts";
import type { MeetingRow, MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import type { Floor } from "../contract/floor.ts";
import { BEAT_EVERY_MS, ROWS_AT_ONCE, SWEEP_ROWS } from "../contract/limits.ts";
import { flagOf } from "../rules/rights.ts";
import type { Doubts } from "./doubts.ts";
import type { Stays } from "./stays.ts";
import type { StayWrites } from "./writes.ts";

const GRACE_MS = STAY_GRACE_SEC * 1000;

interface UpkeepParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly floor: Floor;
  readonly writes: StayWrites;
  readonly doubts: Pick<Doubts, "settle">;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class Upkeep {
  /** Monotonic ms. */
  private beatMs = Number.NEGATIVE_INFINITY;
  /**
   * Before it, no stay is ended for having no connection: this node has just started, or the store was unavailable. In both cases the beats of other
   * nodes may be late, and people need their time to come back. Monotonic ms.
   */
  private patientUntilMs = 0;
  private isStopped = false;

  constructor(private readonly parts: UpkeepParts) {}

  /** The node starts: what was before it gets the whole grace. No one may go on with a meeting that was over before. */
  async begin(): Promise<void> {
    this.patientUntilMs = this.parts.monotonicMs() + GRACE_MS;
    await this.clockSetBack();
    while (await this.endEmpty()) await otherWork();
  }

  /** What is left to do waits for the next start, or is done by other nodes. */
  stop(): void {
    this.isStopped = true;
  }

  /** Says that this node is alive, unless it did a moment ago. */
  async beat(): Promise<void> {
    const { store, nodeId, nowMs, monotonicMs } = this.parts;
    const beganMs = monotonicMs();
    if (beganMs - this.beatMs < BEAT_EVERY_MS) return;
    await store.beat(nodeId, nowMs());
    this.beatMs = beganMs;
  }

  /**
   * The clock was set back, perhaps while no node ran: rows have times that are still to come. What counts from them would take as
   * much longer, so it counts from now on.
   */
  async clockSetBack(): Promise<void> {
    await this.parts.store.bringBack(this.parts.nowMs());
  }

  /**
   * Every BEAT_EVERY_MS. To the end: if one slice had to do for all applications, one that loses many connections at once would keep places
   * in the rooms of others.
   */
  async run(stays: Stays): Promise<void> {
    while ((await this.runOnce(stays)) && !this.isStopped) await otherWork();
  }

  /** Whether more is due. All of it is repeated then: this node must go on beating while it ends thousands of stays. */
  private async runOnce(stays: Stays): Promise<boolean> {
    const { nowMs, monotonicMs, writes, doubts, store, nodeId } = this.parts;
    try {
      stays.releaseUnopened();
      doubts.settle();
      writes.retry();
      if (!stays.isEmpty) {
        const beganMs = monotonicMs();
        await store.beat(nodeId, nowMs());
        this.beatMs = beganMs;
      }
      const areMoreOverdue = monotonicMs() >= this.patientUntilMs && (await this.endOverdue(stays));
      return (await this.endEmpty()) || areMoreOverdue;
    } catch (error) {
      this.patientUntilMs = monotonicMs() + GRACE_MS;
      throw error;
    }
  }

  /** A meeting has begun: the chat of the one before is not part of it. */
  async meetingBegan({ app }: MeetingRow, room: RoomRow): Promise<void> {
    if (flagOf(room, "newChatForMeetingSession")) await this.forgetChat(app, room.id);
  }

  /** A meeting has ended, here or by an admin: its chat goes with it. */
  async meetingEnded({ app, room }: MeetingRow): Promise<void> {
    const { rooms, store, nowMs } = this.parts;
    const row = await rooms.roomById(app, room, nowMs());
    // The next meeting may have begun already, and has removed the chat itself.
    if ((!row || flagOf(row, "newChatForMeetingSession")) && !(await store.current(app, room)))
      await this.forgetChat(app, room);
  }

  /** Whether there may be more. Also after less than a slice: other nodes end some of the same meetings. */
  private async endEmpty(): Promise<boolean> {
    const { store, nowMs } = this.parts;
    const ended = await store.endEmpty(nowMs() - GRACE_MS, SWEEP_ROWS);
    for await (const meeting of withBreaks(ended, ROWS_AT_ONCE)) await this.meetingEnded(meeting);
    return ended.length > 0;
  }

  /** Whether there may be more. If it could end none, other nodes end them, or these stays have connections. */
  private async endOverdue(stays: Stays): Promise<boolean> {
    const { store, nowMs } = this.parts;
    // A killed node was alive for up to one interval after its last beat: people get their grace from then on.
    const before = nowMs() - GRACE_MS - BEAT_EVERY_MS;
    const overdue = await store.overdue(before, SWEEP_ROWS);
    if (overdue.length === 0) return false;
    await stays.keepConnected(overdue);
    // Only those that all nodes were asked about: others may have a connection.
    const ended = await store.endOverdue(before, overdue);
    for (const stay of ended) stays.ended(stay);
    return overdue.length === SWEEP_ROWS && ended.length > 0;
  }

  /** A chat that could not be removed must keep no one out. */
  private async forgetChat(app: AppId, room: string): Promise<void> {
    try {
      await this.parts.floor.forget(app, chatChannel(room));
    } catch (error) {
      this.parts.failed(error);
    }
  }
}
