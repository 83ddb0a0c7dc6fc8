/** A join: a place is reserved, or a place in the lobby; both are answered with a connect token. No stay begins here. */
import { newObjectId } from "../../access/keys/ids.ts";
import type { RoomClaims, RoomTokens, TokenTimes } from "../../access/tokens/room-token.ts";
import { Problem } from "../../protocol/codes.ts";
import type { AccessTokens, VerifiedAccess } from "../../rooms/access-token.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Holder, Joined, JoinRequest, PublicRoom, Waiting } from "../contract/contract.ts";
import {
  BEGIN_WITHIN_SEC,
  CONNECT_TOKEN_MAX_SEC,
  CONNECT_TOKEN_SPARE_SEC,
  PLACE_RESERVED_MS,
  WAIT_MAX_SEC,
} from "../contract/limits.ts";
import type { IceServers, JoinBudget } from "../contract/ports.ts";
import { doorOf, refusalByTime, roomOver } from "../rules/door.ts";
import { ejectionOf, isTimeOver } from "../rules/ejection.ts";
import { nextMeetingId } from "../rules/meeting-id.ts";
import { DEFAULT_HOST_NAME, DEFAULT_NAME, typedName, vouchedName } from "../rules/person-name.ts";
import { recordingOf } from "../rules/recording-state.ts";
import { capacityOf, mayOf, publicRoomOf } from "../rules/rights.ts";
import { type EarlierStay, type EarlierStays, placeToTakeOver } from "./earlier-stays.ts";
import { declined, type Lobby } from "./lobby.ts";
import { holderClaim, holderOfPlace } from "./place-holder.ts";
import { generationOfTicket, stayOfTicket, waitIdOf } from "./tickets.ts";

interface JoinParts {
  readonly store: MeetingStore;
  readonly earlierStays: EarlierStays;
  readonly accessTokens: AccessTokens;
  readonly roomTokens: RoomTokens;
  readonly lobby: Pick<Lobby, "ask" | "placeOf">;
  readonly iceServers: IceServers;
  readonly nowMs: () => number;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
}

/** Where a join comes from. */
export interface Caller {
  /** A digest of the client's address. */
  readonly address: string;
  /** The same for the site of an IPv6 client. */
  readonly site?: string | undefined;
  /** The service's WebSocket address on the host that was called. */
  readonly url: string;
  readonly budget: JoinBudget;
}

/** A person who may enter. */
interface Person {
  readonly id: string;
  readonly name: string;
  readonly isGuest: boolean;
  readonly hasTypedName: boolean;
  readonly access: VerifiedAccess | undefined;
  /** The generation of the application's secret key that the stay ends with. */
  readonly generation: number;
  /** From the lobby. */
  readonly isLetIn?: true;
}

/** What a participant is shown of the meeting and of its own time in it. */
interface About extends Pick<Joined, "recording"> {
  /** Unix ms. */
  readonly ejectAt: number | undefined;
  readonly data?: VerifiedAccess["data"] | undefined;
  /** Unix ms; undefined: the meeting has not begun. */
  readonly began: number | undefined;
}

export class Joining {
  constructor(private readonly parts: JoinParts) {}

  /** How the holder of an access token would enter the room. Rejects with a Problem if a join with that token would be refused by its times. */
  async holder(app: AppRow, room: RoomRow, token: string): Promise<Holder> {
    const access = await this.parts.accessTokens.verify(app, token, room);
    const refusal = access?.isForRoom && refusalByTime(doorOf(room, access, this.parts.nowMs()), access);
    if (refusal) throw refusal;
    return holderOf(access);
  }

  /** `resumed`: what the connect token in `request` says. Rejects with a Problem. */
  async join(
    app: AppRow,
    room: RoomRow,
    request: JoinRequest,
    caller: Caller,
    resumed: RoomClaims | undefined,
  ): Promise<Joined | Waiting> {
    const earlier = resumed && (await this.parts.earlierStays.of(room, resumed));
    const before = earlier?.row;
    // One whose time is over is as good as ended, whether or not a node could write that.
    if (earlier?.isLive && before?.ended === null && !isTimeOver(earlier.ejectAt, this.parts.nowMs()))
      return this.resumed(room, earlier, before, caller);
    if (before?.why === "removed") await this.refuseWhileMeeting(room, before.meeting);
    // It has paid as the holder of a stay that goes on.
    if (resumed) this.charge(app, request, caller.budget);
    const access =
      request.token === undefined ? undefined : await this.parts.accessTokens.verify(app, request.token, room);
    // `charge` knows the signature only. Who shows a token of another room, or one that has ended, uses up what the room's guests have: its address pays as a guest's.
    const isInvited = access?.isForRoom === true;
    if (request.token !== undefined && !isInvited && request.ticket === undefined) caller.budget.guest();
    const door = doorOf(room, access, this.parts.nowMs());
    const { name, isAdmin } = holderOf(access);
    // Only after the rate was charged: a name that is typed costs work, and may be refused.
    const person = (): Person => ({
      name: name ?? typedName(request.name, isAdmin ? DEFAULT_HOST_NAME : DEFAULT_NAME),
      // A "join as host" link has no name: its holder types one, and is no guest.
      isGuest: name === undefined && !isAdmin,
      hasTypedName: name === undefined && isAdmin,
      access,
      generation: access?.generation ?? app.secretSeq,
      id: placeToTakeOver(earlier, access) ?? newObjectId(this.parts.nowMs()),
    });
    const refusal = refusalByTime(door, access);
    if (refusal) throw refusal;
    if (door.state === "open") {
      // Here a ticket is good for nothing: its holder is a guest like all others.
      if (!isInvited && request.ticket !== undefined) caller.budget.guest();
      return this.place(room, person(), caller);
    }
    return this.fromLobby(room, person, request.ticket, door.state === "ask", caller);
  }

  /**
   * Before any store is asked: each caller pays from a budget that only callers like it can use up (meetings.md 6). Whether a ticket is one is known only to the
   * store; `fromLobby` charges its holder.
   */
  charge(app: AppRow | undefined, { token, ticket }: JoinRequest, budget: JoinBudget): void {
    const holder = token === undefined ? undefined : this.parts.accessTokens.holderOf(app, token);
    if (holder !== undefined) budget.token(holder);
    else if (token !== undefined) budget.refused();
    else if (ticket !== undefined) budget.stranger();
    else budget.guest();
  }

  /** A private room without an access token for it. */
  private async fromLobby(
    room: RoomRow,
    whoAsks: () => Person,
    ticket: string | undefined,
    mayAsk: boolean,
    caller: Caller,
  ): Promise<Joined | Waiting> {
    const { lobby, store } = this.parts;
    const place = ticket === undefined ? undefined : await lobby.placeOf(room, ticket);
    if (ticket !== undefined && place) caller.budget.own(`ticket ${waitIdOf(ticket)}`);
    else if (ticket !== undefined) caller.budget.guest();
    const person = whoAsks();
    // An admin decides by the name that is shown: it is not changed after that.
    const name = place?.name ?? person.name;
    if (place?.state === "declined") throw declined(place, this.parts.nowMs());
    if (ticket !== undefined && place?.state === "admitted") {
      // One ticket is good for one stay, however often it is shown.
      const id = stayOfTicket(ticket);
      if (((await store.stay(id))?.ended ?? null) === null)
        return this.place(room, { ...person, id, name, generation: generationOfTicket(ticket), isLetIn: true }, caller);
    }
    if (!mayAsk) throw new Problem("token_required");
    if (ticket !== undefined && place?.state === "waiting") return this.waiting(room, ticket, name, caller);
    const visitor = { name: person.name, address: caller.address, site: caller.site, generation: person.generation };
    const granted = await paidByGuests(caller, room, () => lobby.ask(room, visitor));
    return this.waiting(room, granted, person.name, caller);
  }

  private waiting(room: RoomRow, ticket: string, name: string, { url }: Caller): Waiting {
    const exp = Math.floor(this.parts.nowMs() / 1000) + WAIT_MAX_SEC;
    const claims: RoomClaims = {
      kind: "wait",
      id: waitIdOf(ticket),
      app: room.app,
      room: room.id,
      name,
      isAdmin: false,
      isGuest: true,
      gen: generationOfTicket(ticket),
      exp,
    };
    return { waiting: true, ticket, connect: { url, token: this.parts.roomTokens.sign(claims) } };
  }

  private async place(room: RoomRow, person: Person, caller: Caller): Promise<Joined> {
    const { store, nowMs, meshMax } = this.parts;
    const now = nowMs();
    const { id, name, isGuest, hasTypedName, isLetIn, access, generation: gen } = person;
    const { data, digest, isForRoom = false } = access ?? {};
    const who: Who = {
      isAdmin: holderOf(access).isAdmin,
      externalUserId: textOf(data?.externalUserId),
      accessToken: digest,
      ejectAfterSec: isForRoom ? secondsOf(data?.ejectAfterElapsedTimeInSec) : undefined,
      isLetIn,
    };
    const last = await store.latest(room.app, room.id);
    const current = last?.ended === null ? last : undefined;
    if (current) await this.refuse(current, who);
    const ejectAt = await this.ejectAt(room, current, who);
    if (ejectAt !== undefined && ejectAt <= now)
      throw roomOver("stay", "This access token's time in this meeting is up.");
    const max = capacityOf(room, meshMax);
    const holder = holderOfPlace({ id, access, isLetIn }, caller);
    const reserve = async (): Promise<void> => {
      const reserved = await store.reserve(room.app, room.id, id, max, now + PLACE_RESERVED_MS, now, holder);
      if (reserved === "full") throw new Problem("room_full");
    };
    await (isForRoom || isLetIn ? reserve() : paidByGuests(caller, room, reserve));
    const claims: RoomClaims = {
      ...who,
      kind: "stay",
      id,
      app: room.app,
      room: room.id,
      holder: holderClaim(room, holder),
      meeting: current?.id ?? nextMeetingId(room.id, last),
      name,
      isGuest,
      ...(hasTypedName && { hasTypedName: true as const }),
      opens: access && isForRoom ? timesOf(access) : undefined,
      disabled: disabledBy(data),
      gen,
      beginBy: Math.floor(now / 1000) + BEGIN_WITHIN_SEC,
      ...(!current && { opensMeeting: true as const }),
      exp: expiryOf(now, ejectAt),
    };
    const recording = recordingOf(room, current, now);
    return this.joined(room, claims, { ejectAt, recording, data, began: current?.began }, caller);
  }

  /** The stay goes on: a reload or a second tab takes no second place, and the room's times have no say any more. */
  private async resumed(room: RoomRow, earlier: EarlierStay, stay: StayRow, caller: Caller): Promise<Joined> {
    const { store, nowMs } = this.parts;
    const { beginBy: _begun, opensMeeting: _opened, ...claims } = earlier.claims;
    const ejectAt = earlier.ejectAt ?? undefined;
    const exp = expiryOf(nowMs(), ejectAt);
    const latest = await store.latest(room.app, room.id);
    const recording = recordingOf(room, latest, nowMs());
    const { meeting, name } = stay;
    const about = { ejectAt, recording, began: latest?.began };
    return this.joined(room, { ...claims, meeting, name, exp }, about, caller);
  }

  private joined(room: RoomRow, claims: RoomClaims, about: About, caller: Caller): Joined {
    const { roomTokens, iceServers, nowMs } = this.parts;
    const { ejectAt, recording, data, began = nowMs() } = about;
    const { id, name, isAdmin, isGuest, meeting = "" } = claims;
    return {
      participantSession: id,
      meetingSession: meeting,
      meetingElapsedSec: Math.max(0, Math.floor((nowMs() - began) / 1000)),
      peerId: id,
      name,
      isAdmin,
      isGuest,
      may: mayOf(room, claims),
      room: roomFor(room, data),
      recording,
      connect: { url: caller.url, token: roomTokens.sign({ ...claims, version: room.version }) },
      media: { engine: "mesh" },
      iceServers: iceServers(claims, caller.site ?? caller.address, nowMs()),
      ...(ejectAt !== undefined && { ejectAt: Math.floor(ejectAt / 1000) }),
    };
  }

  private async refuseWhileMeeting({ app, id }: RoomRow, meeting: string): Promise<void> {
    if ((await this.parts.store.current(app, id))?.id === meeting) throw new Problem("removed");
  }

  /** What the meeting says: a lock is for those who could enter otherwise. */
  private async refuse({ id, isLocked }: MeetingRow, who: Who): Promise<void> {
    const { accessToken, externalUserId, isAdmin, isLetIn } = who;
    const isKnown = accessToken !== undefined || externalUserId !== undefined;
    if (isKnown && (await this.parts.store.isBanned(id, accessToken ?? null, externalUserId ?? null)))
      throw new Problem("removed");
    if (isLocked && !isAdmin && !isLetIn) throw new Problem("room_locked");
  }

  /** Unix ms; undefined: never. An access token's time counts from its first entry into the meeting. */
  private async ejectAt(room: RoomRow, current: MeetingRow | undefined, who: Who): Promise<number | undefined> {
    const { store, nowMs } = this.parts;
    const { afterSec, latestMs } = ejectionOf(room, who);
    const times = latestMs === null ? [] : [latestMs];
    if (afterSec !== null) {
      const first =
        current && who.accessToken !== undefined ? await store.firstEntry(current.id, who.accessToken) : undefined;
      times.push((first ?? nowMs()) + afterSec * 1000);
    }
    return times.length === 0 ? undefined : Math.min(...times);
  }
}

/** The guests of a room share a budget; those who are refused use up nothing of it. */
async function paidByGuests<T>({ budget }: Caller, { id }: RoomRow, work: () => Promise<T>): Promise<T> {
  const giveBack = budget.guestOf(id);
  try {
    return await work();
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** A token of another room makes no one an admin; `access` is undefined where it counts as none. */
function holderOf(access: VerifiedAccess | undefined): Holder {
  const { data, isForRoom: isInvited = false } = access ?? {};
  const name = vouchedName(data?.name);
  return { ...(name !== undefined && { name }), isAdmin: isInvited && data?.isAdmin === true, isInvited };
}

/** What an access token, or the lobby, says about a person. */
type Who = Pick<RoomClaims, "isAdmin" | "externalUserId" | "accessToken" | "ejectAfterSec" | "isLetIn">;

const expiryOf = (nowMs: number, ejectAt: number | undefined): number =>
  Math.floor(Math.min(nowMs / 1000 + CONNECT_TOKEN_MAX_SEC, (ejectAt ?? Infinity) / 1000 + CONNECT_TOKEN_SPARE_SEC));

const timesOf = ({ expireUnixSec, notBeforeUnixSec }: VerifiedAccess): TokenTimes => ({
  expireUnixSec,
  notBeforeUnixSec,
});
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const secondsOf = (value: unknown): number | undefined => (typeof value === "number" && value > 0 ? value : undefined);

function disabledBy(data: VerifiedAccess["data"] | undefined): RoomClaims["disabled"] {
  const disabled = (["audio", "video", "screen"] as const).filter((kind) => data?.[DISABLES[kind]] === true);
  return disabled.length > 0 ? disabled : undefined;
}

const DISABLES = { audio: "disableAudio", video: "disableVideo", screen: "disableScreenSharing" } as const;

/** The room as this person sees it: how it enters is the token's to say. */
function roomFor(room: RoomRow, data: VerifiedAccess["data"] | undefined): PublicRoom {
  const own = (["joinVideoOn", "joinAudioOn"] as const).flatMap((name) =>
    typeof data?.[name] === "boolean" ? [[name, data[name]]] : [],
  );
  return { ...publicRoomOf(room), ...Object.fromEntries(own) };
}
