/** A join: a place is held, or a place in the lobby; both are answered with a connect token. No stay begins here. */
import { newObjectId } from "../access/ids.ts";
import type { RoomClaims, RoomTokens, TokenTimes } from "../access/room-token.ts";
import { Problem } from "../protocol/codes.ts";
import type { AccessTokens, VerifiedAccess } from "../rooms/access-token.ts";
import type { MeetingRow, MeetingStore, StayRow } from "../store/meetings.ts";
import type { RoomRow, RoomStore } from "../store/rooms.ts";
import type { AppRow } from "../store/store.ts";
import type { Holder, Joined, JoinRequest, PublicRoom, Waiting } from "./contract.ts";
import { doorOf, refusalByTime, roomOver } from "./door.ts";
import { ejectionOf } from "./ejection.ts";
import {
  BEGIN_WITHIN_SEC,
  CONNECT_TOKEN_MAX_SEC,
  CONNECT_TOKEN_SPARE_SEC,
  PLACE_HELD_MS,
  WAIT_MAX_SEC,
} from "./limits.ts";
import { declined } from "./lobby.ts";
import { nextMeetingId } from "./meeting-id.ts";
import { DEFAULT_HOST_NAME, DEFAULT_NAME, typedName, vouchedName } from "./person-name.ts";
import type { IceServers, LobbyPort } from "./ports.ts";
import { recordingOf } from "./recording.ts";
import { capacityOf, mayOf, publicRoomOf } from "./rights.ts";
import { stayOfTicket, waitIdOf } from "./tickets.ts";

export interface JoinParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly accessTokens: AccessTokens;
  readonly roomTokens: RoomTokens;
  readonly lobby: LobbyPort;
  readonly iceServers: IceServers;
  readonly nowMs: () => number;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
}

/** Where a join comes from. */
export interface Caller {
  /** A digest of the client's address. */
  readonly address: string;
  /** The service's WebSocket address on the host that was called. */
  readonly url: string;
}

/** A person who may enter. */
interface Person {
  readonly id: string;
  readonly name: string;
  readonly isGuest: boolean;
  readonly hasTypedName: boolean;
  readonly access: VerifiedAccess | undefined;
  /** From the lobby. */
  readonly isLetIn?: true;
}

/** What an earlier connect token says; the stay is undefined if it has not begun. */
interface Earlier {
  readonly claims: RoomClaims;
  readonly stay: StayRow | undefined;
}

/** What a participant is shown of the meeting and of its own time in it. */
interface About extends Pick<Joined, "recording"> {
  /** Unix ms. */
  readonly ejectAt: number | undefined;
  readonly data?: VerifiedAccess["data"] | undefined;
}

export class Joining {
  constructor(private readonly parts: JoinParts) {}

  /** A page that is inside while its room is renamed goes on with the name it knows, whichever room has that name now. */
  async roomOfStay(app: AppRow, roomName: string, resume: string): Promise<RoomRow | undefined> {
    const { roomTokens, rooms, store, nowMs } = this.parts;
    const claims = roomTokens.verify(resume, nowMs());
    if (claims === undefined || claims === "expired" || claims.kind !== "stay" || claims.app !== app.id)
      return undefined;
    const room = await rooms.roomById(app.id, claims.room, nowMs());
    if (!room || room.name === roomName) return room;
    const stay = await store.stay(claims.id);
    const isInside = stay?.ended === null && stay.room === room.id;
    return isInside && (await store.meeting(app.id, stay.meeting))?.roomName === roomName ? room : undefined;
  }

  /** How the holder of an access token would enter the room. Rejects with a Problem if a join with that token would be refused by its times. */
  async holder(app: AppRow, room: RoomRow, token: string): Promise<Holder> {
    const access = await this.parts.accessTokens.verify(app, token, room);
    const refusal = access?.isForRoom && refusalByTime(doorOf(room, access, this.parts.nowMs()), access);
    if (refusal) throw refusal;
    return holderOf(access);
  }

  /** Rejects with a Problem. */
  async join(app: AppRow, room: RoomRow, request: JoinRequest, caller: Caller): Promise<Joined | Waiting> {
    const earlier = await this.earlierStay(room, request.resume);
    if (earlier?.stay && earlier.stay.ended === null) return this.resumed(room, earlier.claims, earlier.stay, caller);
    if (earlier?.stay?.why === "removed") await this.refuseWhileMeeting(room, earlier.stay.meeting);
    const access =
      request.token === undefined ? undefined : await this.parts.accessTokens.verify(app, request.token, room);
    const door = doorOf(room, access, this.parts.nowMs());
    const { name, isAdmin } = holderOf(access);
    const person = {
      name: name ?? typedName(request.name, isAdmin ? DEFAULT_HOST_NAME : DEFAULT_NAME),
      // A "join as host" link has no name: its holder types one, and is no guest.
      isGuest: name === undefined && !isAdmin,
      hasTypedName: name === undefined && isAdmin,
      access,
      id: placeToTakeOver(earlier, access) ?? newObjectId(this.parts.nowMs()),
    };
    const refusal = refusalByTime(door, access);
    if (refusal) throw refusal;
    if (door.state === "open") return this.place(room, person, caller);
    return this.fromLobby(room, person, request.ticket, door.state === "ask", caller);
  }

  /** A private room without an access token for it. */
  private async fromLobby(
    room: RoomRow,
    person: Person,
    ticket: string | undefined,
    mayAsk: boolean,
    caller: Caller,
  ): Promise<Joined | Waiting> {
    const { lobby, store } = this.parts;
    const place = ticket === undefined ? undefined : await lobby.placeOf(room, ticket);
    // An admin decides by the name that is shown: it is not changed after that.
    const name = place?.name ?? person.name;
    if (place?.state === "declined") throw declined(place, this.parts.nowMs());
    if (ticket !== undefined && place?.state === "admitted") {
      // One ticket is good for one stay, however often it is shown.
      const id = stayOfTicket(ticket);
      if (((await store.stay(id))?.ended ?? null) === null)
        return this.place(room, { ...person, id, name, isLetIn: true }, caller);
    }
    if (!mayAsk) throw new Problem("token_required");
    if (ticket !== undefined && place?.state === "waiting") return this.waiting(room, ticket, name, caller);
    return this.waiting(
      room,
      await lobby.ask(room, { name: person.name, address: caller.address }),
      person.name,
      caller,
    );
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
      exp,
    };
    return { waiting: true, ticket, connect: { url, token: this.parts.roomTokens.sign(claims) } };
  }

  private async place(room: RoomRow, person: Person, caller: Caller): Promise<Joined> {
    const { store, nowMs, meshMax } = this.parts;
    const now = nowMs();
    const { id, name, isGuest, hasTypedName, isLetIn, access } = person;
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
      throw roomOver("stay", "The time of this access token in this meeting is over.");
    const max = capacityOf(room, meshMax);
    const held = await store.hold(room.app, room.id, id, max, now + PLACE_HELD_MS, now, caller.address);
    if (held === "full") throw new Problem("room_full");
    const claims: RoomClaims = {
      ...who,
      kind: "stay",
      id,
      app: room.app,
      room: room.id,
      meeting: current?.id ?? nextMeetingId(room.id, last),
      name,
      isGuest,
      ...(hasTypedName && { hasTypedName: true as const }),
      opens: access && isForRoom ? timesOf(access) : undefined,
      disabled: disabledBy(data),
      beginBy: Math.floor(now / 1000) + BEGIN_WITHIN_SEC,
      ...(!current && { opensMeeting: true as const }),
      exp: expiryOf(now, ejectAt),
    };
    return this.joined(room, claims, { ejectAt, recording: recordingOf(room, current, now), data }, caller);
  }

  /** The stay goes on: a reload or a second tab takes no second place, and the room's times have no say any more. */
  private async resumed(room: RoomRow, earlier: RoomClaims, stay: StayRow, caller: Caller): Promise<Joined> {
    const { store, nowMs } = this.parts;
    const { beginBy: _begun, opensMeeting: _opened, ...claims } = earlier;
    const ejectAt = stay.ejectAt ?? undefined;
    const exp = expiryOf(nowMs(), ejectAt);
    const recording = recordingOf(room, await store.latest(room.app, room.id), nowMs());
    const { meeting, name } = stay;
    return this.joined(room, { ...claims, meeting, name, exp }, { ejectAt, recording }, caller);
  }

  private joined(room: RoomRow, claims: RoomClaims, { ejectAt, recording, data }: About, { url }: Caller): Joined {
    const { roomTokens, iceServers, nowMs } = this.parts;
    const { id, name, isAdmin, isGuest, meeting = "", app } = claims;
    return {
      participantSession: id,
      meetingSession: meeting,
      peerId: id,
      name,
      isAdmin,
      isGuest,
      may: mayOf(room, claims),
      room: roomFor(room, data),
      recording,
      connect: { url, token: roomTokens.sign({ ...claims, version: room.version }) },
      media: { engine: "mesh" },
      iceServers: iceServers({ app, participantSession: id, nowMs: nowMs() }),
      ...(ejectAt !== undefined && { ejectAt: Math.floor(ejectAt / 1000) }),
    };
  }

  /** The stay of an earlier connect token for this room. A token that is none, or too old, is as good as none. */
  private async earlierStay(room: RoomRow, resume: string | undefined): Promise<Earlier | undefined> {
    const claims = resume === undefined ? undefined : this.parts.roomTokens.verify(resume, this.parts.nowMs());
    if (claims === undefined || claims === "expired") return undefined;
    if (claims.kind !== "stay" || claims.app !== room.app || claims.room !== room.id) return undefined;
    return { claims, stay: await this.parts.store.stay(claims.id) };
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

/**
 * The place that a join holds is taken over by the next one of the same page, with the same access token. With another one it would be the same stay: a removed
 * admin could begin it as a guest, and go on with it as an admin.
 */
function placeToTakeOver(earlier: Earlier | undefined, access: VerifiedAccess | undefined): string | undefined {
  return earlier && !earlier.stay && earlier.claims.accessToken === access?.digest ? earlier.claims.id : undefined;
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
