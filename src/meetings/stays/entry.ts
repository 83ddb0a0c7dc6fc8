/** The way in: a stay begins, or goes on, with a connect token. The store decides, for all nodes. */
import { newObjectId } from "../../access/keys/ids.ts";
import type { RoomAccess } from "../../access/tokens/room-access.ts";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Entered, Entering, MeetingRow, MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import { type DoorState, doorOf, refusalByTime, roomOver } from "../rules/door.ts";
import { ejectAtOf, ejectionOf, isTimeOver } from "../rules/ejection.ts";
import { nextMeetingId } from "../rules/meeting-id.ts";
import { recordsFrom } from "../rules/recording-state.ts";
import { accessOf, capacityOf } from "../rules/rights.ts";
import { ejectAtOfStay } from "./stay-time.ts";

interface EntryParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly nodeId: string;
  readonly nowMs: () => number;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
  /** People are in the room on this node: its meeting has begun. */
  readonly isOpen: (room: string) => boolean;
  /** This node is about to have a stay: the others must know that it is alive. */
  readonly beat: () => Promise<void>;
  /** The meeting begins: its chat may have to be empty, and it may have to be recorded. */
  readonly meetingBegan: (meeting: MeetingRow, room: RoomRow) => Promise<void>;
  /** The store may have let the stay in, and its connection does not open. */
  readonly inDoubt: (claims: RoomClaims) => void;
}

export interface Admission {
  readonly row: RoomRow;
  readonly stay: StayRow;
  readonly access: RoomAccess;
  /** Unix ms. */
  readonly enteredMs: number;
  /** The stay had begun before. */
  readonly isBack: boolean;
}

const TOO_LATE = "You did not connect in time. Join again.";
const STAY_OVER = "This stay has ended. Join again.";

const timeOver = (): Problem => roomOver("stay", "Your time in this meeting is up.");

export class Entry {
  constructor(private readonly parts: EntryParts) {}

  /** Rejects with a Problem. */
  async enter(claims: RoomClaims): Promise<Admission> {
    const { store, nowMs, beat, meshMax } = this.parts;
    const now = nowMs();
    const row = await this.room(claims, now);
    const refusal = refusalToBegin(claims, row, now);
    if (refusal && !(await store.stay(claims.id))) throw refusal;
    await beat();
    const entering = await this.entering(claims, row);
    try {
      const entered = await store.enter(entering, capacityOf(row, meshMax), now);
      if (!("stay" in entered)) throw refusalOf(entered, await store.stay(claims.id));
      const { stay, meeting, outcome, isFirst } = entered;
      if (isFirst) await this.parts.meetingBegan(meeting, row);
      return { row, stay, access: accessOf(row, claims), enteredMs: stay.seen, isBack: outcome === "back" };
    } catch (error) {
      // A refusal is an answer.
      if (!(error instanceof Problem)) this.parts.inDoubt(claims);
      throw error;
    }
  }

  /** As `enter`, but nothing begins. */
  async check(claims: RoomClaims): Promise<void> {
    const { store, nowMs, meshMax } = this.parts;
    const now = nowMs();
    const row = await this.room(claims, now);
    const stay = await store.stay(claims.id);
    if (stay && stay.ended !== null) throw refusalOf({ outcome: "ended" }, stay);
    if (stay && isTimeOver(await ejectAtOfStay(store, row, claims, stay), now)) throw timeOver();
    if (stay) return;
    const refusal = refusalToBegin(claims, row, now);
    if (refusal) throw refusal;
    const current = await store.current(row.app, row.id);
    if (current) await this.checkHistory(claims, row, current, now);
    // A place that is only held keeps others out too, also before the meeting begins.
    const taken = await store.takenByOthers(row.app, row.id, claims.id, now);
    if (taken >= capacityOf(row, meshMax)) throw new Problem("room_full");
    if (current?.isLocked && !claims.isAdmin && !claims.isLetIn) throw new Problem("room_locked");
  }

  /** What the meeting knows of the person. */
  private async checkHistory(claims: RoomClaims, row: RoomRow, { id }: MeetingRow, nowMs: number): Promise<void> {
    const { store } = this.parts;
    if (await store.isBanned(id, claims.accessToken ?? null, claims.externalUserId ?? null))
      throw new Problem("removed");
    const first = claims.accessToken && (await store.firstEntry(id, claims.accessToken));
    if (isTimeOver(ejectAtOf(ejectionOf(row, claims), first || nowMs), nowMs)) throw timeOver();
  }

  private async room({ app, room }: RoomClaims, nowMs: number): Promise<RoomRow> {
    const row = await this.parts.rooms.roomById(app, room, nowMs);
    if (!row) throw new Problem("room_not_found");
    return row;
  }

  private async entering(claims: RoomClaims, row: RoomRow): Promise<Entering> {
    const { afterSec, latestMs } = ejectionOf(row, claims);
    return {
      id: claims.id,
      app: claims.app,
      room: claims.room,
      roomName: row.name,
      name: claims.name,
      externalUserId: claims.externalUserId ?? null,
      isAdmin: claims.isAdmin,
      isGuest: claims.isGuest,
      isLetIn: claims.isLetIn,
      accessToken: claims.accessToken ?? null,
      node: this.parts.nodeId,
      newMeeting: await this.newMeeting(claims),
      recordsFrom: recordsFrom(row),
      ejectAfterSec: afterSec,
      ejectAtLatest: latestMs,
    };
  }

  /** The id that the join has announced, unless that meeting has come and gone since. */
  private async newMeeting({ app, room, meeting, opensMeeting }: RoomClaims): Promise<string> {
    const { store, nowMs } = this.parts;
    if (!opensMeeting || meeting === undefined || this.parts.isOpen(room)) return newObjectId(nowMs());
    if (!(await this.hasEnded(app, meeting))) return meeting;
    const next = nextMeetingId(room, await store.latest(app, room));
    // A clock that was set back makes an earlier meeting the latest. The one after it has had this id: no one could enter until that time is back.
    return (await this.hasEnded(app, next)) ? newObjectId(nowMs()) : next;
  }

  private async hasEnded(app: AppId, meeting: string): Promise<boolean> {
    return ((await this.parts.store.meeting(app, meeting))?.ended ?? null) !== null;
  }
}

const isLate = ({ beginBy }: RoomClaims, nowMs: number): boolean => beginBy !== undefined && beginBy * 1000 <= nowMs;

/** Why a stay cannot begin any more. The room may have changed since the join: it lets in whom it would let join now. */
function refusalToBegin(claims: RoomClaims, row: RoomRow, nowMs: number): Problem | undefined {
  if (isLate(claims, nowMs)) return new Problem("token_expired", TOO_LATE);
  const token = claims.opens && { isForRoom: true, ...claims.opens };
  const door = doorOf(row, token, nowMs);
  if (door.state === "open" || (isPrivate(door) && claims.isLetIn)) return undefined;
  return refusalByTime(door, token) ?? new Problem("token_required");
}

const isPrivate = ({ state }: DoorState): boolean => state === "ask" || state === "token_required";

type Refused = Extract<Entered, { readonly outcome: "ended" | "removed" | "time" | "full" | "locked" }>;

function refusalOf({ outcome }: Refused, stay: StayRow | undefined): Problem {
  switch (outcome) {
    case "full":
      return new Problem("room_full");
    case "locked":
      return new Problem("room_locked");
    case "removed":
      return new Problem("removed");
    case "time":
      return timeOver();
    case "ended":
      return stay?.why === "removed" ? new Problem("removed") : new Problem("token_expired", STAY_OVER);
  }
}
