/**
 * The contract of meetings: who is or was in a room.
 *
 * - `reserve` and `enter` MUST be exact, however many nodes call them: stays that have not ended and places that are reserved together
 *   never exceed `max`. A place is reserved in the name of the participantSession that will enter.
 * - `enter` MUST begin one stay per participantSession, and one meeting per room that has none.
 * - `end` MUST end a stay once, and say so to one caller only. The same applies to `endOverdue`, `endMeeting` and `endEmpty`.
 * - A stay is open until it is ended. `node` is the node with its connection, or null while it has none; `seen` is when it was last known
 *   to be connected. A node says every few seconds that it is alive (`beat`): stays of a node that does not are those of a
 *   node that was killed. So the name of a node MUST be a new one for each process, also after a restart.
 * - What these calls have written MUST survive the end of the process. After a power loss the last seconds may be missing: stays that are open
 *   then are ended as those of a killed node.
 * - Times are Unix ms of the caller's clock.
 */
import type { AppId } from "../../base/ids.ts";

/** A meeting may have thousands of stays, and a list of meetings is asked for every few seconds. */
export const PEOPLE_COUNTED_MAX = 50;

export interface MeetingRow {
  readonly id: string;
  readonly app: AppId;
  readonly room: string;
  /** The room's name when the meeting began: the room may be renamed or archived later. */
  readonly roomName: string;
  readonly began: number;
  readonly ended: number | null;
  readonly isLocked: boolean;
  /** null: it is not being recorded. */
  readonly recording: MeetingRecording | null;
  /** While it is not: when it was stopped, or the meeting has ended; null: it has never been recorded. */
  readonly recordingStopped: number | null;
}

export interface MeetingRecording {
  /** The name of the participant who started it; empty: the room itself, or the application's server. */
  readonly by: string;
  readonly since: number;
}

export interface StayRow {
  /** The participantSession. */
  readonly id: string;
  readonly meeting: string;
  readonly app: AppId;
  readonly room: string;
  readonly name: string;
  readonly externalUserId: string | null;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  /** The digest of its access token; null for a guest. */
  readonly accessToken: string | null;
  /** When it is put out because it has expired; null: never. */
  readonly ejectAt: number | null;
  readonly node: string | null;
  readonly seen: number;
  readonly began: number;
  readonly ended: number | null;
  readonly why: StayEnd | null;
}

/** `left`: it said goodbye. `lost`: it was not back in time. The others: it was put out. */
export type StayEnd = "left" | "lost" | "time" | "ended" | "removed";

/** A stay that begins, or goes on if it is open already. */
export interface Entering extends Omit<StayRow, "meeting" | "seen" | "began" | "ended" | "why" | "ejectAt" | "node"> {
  readonly roomName: string;
  readonly node: string;
  /** For a new meeting. */
  readonly newMeeting: string;
  /** A new meeting begins with recording, in this name. */
  readonly recordsFrom?: string | undefined;
  /** An admin let it in from the lobby: like an admin, it may enter a locked meeting. */
  readonly isLetIn?: boolean | undefined;
  /** Seconds from the first entry of this access token into the meeting, or of this stay; null: no limit. */
  readonly ejectAfterSec: number | null;
  /** Whatever comes first; null: no limit. */
  readonly ejectAtLatest: number | null;
}

export type Entered =
  | {
      readonly outcome: "began" | "back";
      readonly stay: StayRow;
      readonly meeting: MeetingRow;
      /** The meeting has begun with this stay. */
      readonly isFirst: boolean;
    }
  /**
   * The first that applies. `ended`: this participantSession has ended, and cannot come back. `removed`: its access token or user was put out of
   * this meeting. `time`: its time in this meeting is over. `full`: it gives up the place that it has reserved. `locked`: as it says.
   */
  | { readonly outcome: "ended" | "removed" | "time" | "full" | "locked" };

export interface MeetingPage {
  readonly rows: readonly MeetingRow[];
  readonly total: number;
}

export interface MeetingSearch {
  readonly room?: string | undefined;
  readonly isActive?: boolean | undefined;
  /** Unix ms. */
  readonly startedAfter?: number | undefined;
  readonly startedBefore?: number | undefined;
  readonly limit: number;
  /** Newest first, behind this meeting. */
  readonly endId?: string | undefined;
}

/** A client that waits in the lobby. */
export interface WaitingRow {
  /** A digest of the ticket: the store does not have what lets a visitor in. */
  readonly waitId: string;
  readonly app: AppId;
  readonly room: string;
  readonly name: string;
  /** A digest of the client's address: at most 3 wait from one. */
  readonly address: string;
  /** The same for its site; null where it has none. */
  readonly site: string | null;
  readonly since: number;
  /** When its connection was there for the last time, as far as a node has noted it. A visitor who is not seen for a while is forgotten. */
  readonly seen: number;
  readonly state: "waiting" | "admitted" | "declined";
  /** When it was decided. */
  readonly decided: number | null;
}

/** How many may wait: for the room, and of those from one address and from one site. */
export interface LobbyLimits {
  readonly max: number;
  readonly perAddress: number;
  readonly perSite: number;
}

/** Who has reserved a place. */
export interface PlaceHolder {
  /** Whose places are counted together. */
  readonly name: string;
  /** The application or an admin vouches for the person: it may take a place that is reserved for one that no one vouches for. */
  readonly isVerified: boolean;
}

export const RESERVED_PER_HOLDER_MAX = 2;
/** Clocks of nodes that use one store may be seconds apart: a time that is less ahead is the time of another node. */
export const AHEAD_MAX_MS = 60_000;

export interface MeetingStore extends LobbyStore {
  /**
   * Reserves a place until then; again for the same participantSession it is reserved for longer. `full` counts stays and other reserved places. A
   * stay that is open has its place already. A holder has at most RESERVED_PER_HOLDER_MAX reserved places in a room, and gives up its oldest one for another, so that
   * no client can keep a room full without entering. Where the room is full, a verified holder takes the place that has been reserved for longest by one who is not.
   */
  reserve(
    app: AppId,
    room: string,
    id: string,
    max: number,
    untilMs: number,
    nowMs: number,
    holder?: PlaceHolder,
  ): Promise<"reserved" | "full">;
  /** How many places of the room are not free for this participantSession: the stays and the reserved places of others, as `enter` counts them. */
  takenByOthers(app: AppId, room: string, id: string, nowMs: number): Promise<number>;
  enter(one: Entering, max: number, nowMs: number): Promise<Entered>;
  /** Its connection is gone from this node; if it is on another by now, nothing changes. */
  lost(id: string, node: string, nowMs: number): Promise<void>;
  /** With `maxTimes` it is counted, and refused when it was counted that often before. */
  rename(id: string, name: string, maxTimes?: number): Promise<StayRow | "too often" | "ended">;
  /**
   * With `node` it ends only if its connection is on that node or on none: it may be on another by now. undefined: it was not ended, because of that, because it
   * had ended before, or because there is no such stay. One that had ended as left or lost is noted as removed all the same (`isBarred`).
   */
  end(id: string, why: StayEnd, nowMs: number, node?: string): Promise<StayRow | undefined>;
  stay(id: string): Promise<StayRow | undefined>;
  /** Stays that have not ended. */
  openStays(app: AppId, room: string): Promise<readonly StayRow[]>;
  /** How many there are. */
  inside(app: AppId, room: string): Promise<number>;
  /** How many there are in each of these rooms, in one statement; rooms without any are absent. */
  insideEach(app: AppId, rooms: readonly string[]): Promise<readonly { readonly room: string; readonly n: number }[]>;
  /** The meeting of a room that has not ended. */
  current(app: AppId, room: string): Promise<MeetingRow | undefined>;
  /** The meeting of a room that began last, whether or not it has ended. */
  latest(app: AppId, room: string): Promise<MeetingRow | undefined>;
  meeting(app: AppId, id: string): Promise<MeetingRow | undefined>;
  /** Oldest first; at most `limit`. */
  participants(meeting: string, limit: number): Promise<readonly StayRow[]>;
  /** How many people, by their names, were in the first PEOPLE_COUNTED_MAX stays of each of these meetings, in one statement. */
  peopleEach(meetings: readonly string[]): Promise<readonly { readonly meeting: string; readonly n: number }[]>;
  /** When this access token first entered the meeting. */
  firstEntry(meeting: string, accessToken: string): Promise<number | undefined>;
  /** undefined: `endId` is none of the application's. With a time span it MAY throw TooManyWaiting (base/fair-queue.ts) where many wait. */
  meetings(app: AppId, search: MeetingSearch): Promise<MeetingPage | undefined>;
  lock(meeting: string, isLocked: boolean): Promise<void>;
  /**
   * Recording begins in that name, or ends (null). It ends with its meeting anyway. false: nothing was changed, because the meeting has ended or it was
   * so already; who started it and when stays as it is.
   */
  setRecording(meeting: string, by: string | null, nowMs: number): Promise<boolean>;
  /** This access token or user must not come back into the meeting: stays that begin after this call are none of theirs. */
  ban(
    meeting: string,
    who: { readonly accessToken: string | null; readonly externalUserId: string | null },
  ): Promise<void>;
  /**
   * The person of this stay was removed: in this stay, in another one of the meeting with the same user, or in a later one with the same access token. Also
   * after its end. A token may be one that many people share, so a stay that goes on after the removal is not barred by it.
   */
  isBarred(id: string): Promise<boolean>;
  isBanned(meeting: string, accessToken: string | null, externalUserId: string | null): Promise<boolean>;
  /** This node is alive. */
  beat(node: string, nowMs: number): Promise<void>;
  /**
   * Open stays that have had no connection since before `beforeMs`: those without a node that were seen before it, and those of nodes
   * whose last beat was before it. `lastSeen` is that time. At most `limit`.
   */
  overdue(beforeMs: number, limit: number): Promise<readonly OverdueStay[]>;
  /** Ends these stays, which were overdue, as `lost` when they were last seen, unless they are back meanwhile. Returns those that this call has ended. */
  endOverdue(beforeMs: number, overdue: readonly OverdueStay[]): Promise<readonly StayRow[]>;
  /** Ends a meeting when its last stay ended. undefined: it had ended before, or a stay is open. */
  endMeeting(meeting: string): Promise<MeetingRow | undefined>;
  /** Ends meetings without an open stay whose last stay ended before `beforeMs`, at that time. Returns those that this call has ended. */
  endEmpty(beforeMs: number, limit: number): Promise<readonly MeetingRow[]>;
  /**
   * Forgets meetings that ended more than their application's `meetingRetentionDays` ago, with their stays, also those of deleted applications. Returns
   * how many: 0 if there are no more.
   */
  forgetOld(nowMs: number, limit: number): Promise<number>;
  /**
   * After the clock was set back: waits and graces that count from a time more than AHEAD_MAX_MS ahead of `nowMs` count from `nowMs` on,
   * and places that are reserved until such a time are given up. Times that people are shown stay as they are.
   */
  bringBack(nowMs: number): Promise<void>;
}

export interface OverdueStay {
  readonly stay: StayRow;
  readonly lastSeen: number;
}

export interface LobbyStore {
  /**
   * `full`: the room has `max` that wait, or this address has `perAddress`, or its site `perSite`, that wait or were declined and are not forgotten yet. A
   * waitId that is known already changes nothing.
   */
  wait(row: WaitingRow, limits: LobbyLimits): Promise<"waiting" | "full">;
  waiting(app: AppId, room: string): Promise<readonly WaitingRow[]>;
  /** One visitor, in whichever state. */
  waitingOne(waitId: string): Promise<WaitingRow | undefined>;
  /** undefined: it does not wait any more. */
  decide(waitId: string, state: "admitted" | "declined", nowMs: number): Promise<WaitingRow | undefined>;
  setSeen(waitId: string, seen: number): Promise<void>;
  /**
   * Forgets visitors who are older than `sinceMs`, last seen before `seenMs`, or declined before `declinedMs`; a declined one that is not seen any more has to wait too.
   * Returns the rooms whose queue changed.
   */
  forgetWaiting(
    sinceMs: number,
    seenMs: number,
    declinedMs: number,
  ): Promise<readonly { readonly app: AppId; readonly room: string }[]>;
  /** waitIds of visitors who were last seen before `seenMs` and are not declined, those first who were not seen for longest. At most `limit`. */
  unseen(seenMs: number, limit: number): Promise<readonly string[]>;
  /** Forgets those of them who are still unseen. Returns as `forgetWaiting`. */
  forgetUnseen(
    seenMs: number,
    waitIds: readonly string[],
  ): Promise<readonly { readonly app: AppId; readonly room: string }[]>;
}
