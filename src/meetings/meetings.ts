/** Meetings as HTTP and realtime see them: the door and joins for the one, the hooks of rooms (realtime/connections/room-hooks.ts) for the other. */
import type { RoomRefusal } from "../access/tokens/room-access.ts";
import type { RoomSeat } from "../access/tokens/room-token.ts";
import { asAppId } from "../base/ids.ts";
import { Repeating } from "../base/repeating.ts";
import type { Departure } from "../protocol/close.ts";
import { Problem } from "../protocol/codes.ts";
import { roomChannelKind } from "../protocol/room-channels.ts";
import { valuesOf } from "../rooms/rooms.ts";
import type { MeetingRow, MeetingStore } from "../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../store/contract/rooms.ts";
import type { AppRow } from "../store/contract/store.ts";
import type { Acts } from "./acts/acts.ts";
import type { Changes } from "./acts/changes.ts";
import type { Recording } from "./acts/recording.ts";
import type { Times } from "./acts/times.ts";
import type { BackgroundBuilt } from "./build/background.ts";
import type { Door, Joined, JoinRequest, Waiting } from "./contract/contract.ts";
import { BEAT_EVERY_MS } from "./contract/limits.ts";
import type { JoinBudget } from "./contract/ports.ts";
import type { EarlierStays } from "./entrance/earlier-stays.ts";
import type { Caller, Joining } from "./entrance/joining.ts";
import type { Lobby } from "./entrance/lobby.ts";
import { doorOf } from "./rules/door.ts";
import { recordingOf } from "./rules/recording-state.ts";
import { flagOf, publicRoomOf } from "./rules/rights.ts";
import type { Sessions } from "./sessions.ts";
import type { Signals } from "./signals/signals.ts";
import type { Entry } from "./stays/entry.ts";
import type { Present } from "./stays/present.ts";
import type { Stays } from "./stays/stays.ts";
import type { StayTokens } from "./stays/tokens.ts";
import type { Upkeep } from "./stays/upkeep.ts";
import type { StayWrites } from "./stays/writes.ts";

/** The parts that act for people who are inside or wait. */
export interface MeetingServices extends BackgroundBuilt {
  readonly lobby: Lobby;
  readonly signals: Signals;
  readonly times: Times;
  readonly changes: Changes;
  readonly recording: Recording;
  readonly acts: Acts;
  readonly stayTokens: StayTokens;
  readonly sessions: Sessions;
}

interface MeetingParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
  readonly present: Present;
  readonly upkeep: Upkeep;
  readonly entry: Entry;
  readonly stays: Stays;
  readonly writes: StayWrites;
  readonly earlierStays: EarlierStays;
  readonly joining: Joining;
  readonly services: MeetingServices;
}

/** Stands for an application that does not exist, so that its rooms are looked up like those of others. */
const NO_APP = asAppId("unknown");

export class Meetings {
  readonly present: Present;
  readonly upkeep: Upkeep;
  readonly stays: Stays;
  readonly services: MeetingServices;
  private readonly work: Repeating;

  constructor(private readonly parts: MeetingParts) {
    const { present, upkeep, stays, services, failed } = parts;
    this.present = present;
    this.upkeep = upkeep;
    this.stays = stays;
    this.services = services;
    this.work = new Repeating(BEAT_EVERY_MS, () => upkeep.run(stays), failed);
  }

  /** Before people may enter. */
  async start(): Promise<void> {
    await this.upkeep.begin();
    this.work.start();
    this.services.start();
  }

  /** After the connections were closed. */
  async stop(): Promise<void> {
    this.upkeep.stop();
    await Promise.all([this.work.stop(), this.services.stop()]);
    await this.parts.writes.idle();
  }

  /**
   * `app` is undefined if there is no such application: it is answered like an unknown room. With an access token it also says how its holder would
   * enter, and rejects with what a join would be refused for.
   */
  async door(app: AppRow | undefined, roomName: string, budget: JoinBudget, token?: string): Promise<Door> {
    this.parts.joining.charge(app, { token }, budget);
    const room = await this.room(app, roomName);
    if (token === undefined) budget.guestOf(room.id);
    const you = app && token !== undefined ? await this.parts.joining.holder(app, room, token) : undefined;
    const { privacy, lang, autoJoin, audioOnlyRoom } = publicRoomOf(room) as unknown as Door;
    // What a visitor of a private room may do depends on the token: the door is open to those who have one.
    const door = doorOf(room, { isForRoom: true }, this.parts.nowMs());
    return {
      roomName: room.name,
      privacy,
      lang,
      autoJoin,
      audioOnlyRoom,
      recording: recordingOf(room, await this.meetingOf(room), this.parts.nowMs()) !== null,
      ...(door.state === "not_open" && {
        opensAt: door.opensAt,
        ...(door.closesAt !== undefined && { closesAt: door.closesAt }),
      }),
      state: door.state === "not_open" || door.state === "over" ? door.state : "open",
      enableRequestToJoin: flagOf(room, "enableRequestToJoin"),
      ...((valuesOf(room).privacy !== "private" || you?.isAdmin === true) && {
        inside: await this.parts.store.inside(room.app, room.id),
      }),
      ...(you && { you }),
    };
  }

  private async meetingOf({ app, id }: RoomRow): Promise<MeetingRow | undefined> {
    const latest = await this.parts.store.latest(app, id);
    return latest?.ended === null ? latest : undefined;
  }

  async join(
    app: AppRow | undefined,
    roomName: string,
    request: JoinRequest,
    caller: Caller,
  ): Promise<Joined | Waiting> {
    const resumed = this.parts.earlierStays.claims(app?.id, request.resume);
    if (resumed) caller.budget.own(`stay ${resumed.id}`);
    else this.parts.joining.charge(app, request, caller.budget);
    const room =
      (resumed && (await this.parts.earlierStays.roomOf(resumed, roomName))) ?? (await this.room(app, roomName));
    if (!app) throw new Problem("room_not_found");
    return this.parts.joining.join(app, room, request, caller, resumed);
  }

  enter(seat: RoomSeat): Promise<void> {
    return seat.claims.kind === "stay" ? this.stays.enter(seat) : this.services.lobby.enterLobby(seat.claims);
  }

  /** As `enter`, but nothing begins: browsers cannot see why a WebSocket was refused, and ask by HTTP. */
  async check({ claims }: RoomSeat): Promise<void> {
    await (claims.kind === "stay" ? this.parts.entry.check(claims) : this.services.lobby.check(claims));
  }

  connected(seat: RoomSeat, connection: string): void {
    if (seat.claims.kind === "stay") this.stays.connected(seat, connection);
    else this.services.lobby.connected(seat.claims, connection);
  }

  disconnected(seat: RoomSeat, connection: string, departure: Departure): void {
    const isGoodbye = departure === "goodbye";
    if (seat.claims.kind === "stay") this.stays.disconnected(seat, connection, isGoodbye);
    else this.services.lobby.disconnected(seat.claims, connection, isGoodbye);
  }

  renewed(seat: RoomSeat, before: RoomSeat): void {
    if (seat.claims.kind === "stay") this.stays.renewed(seat, before);
  }

  subscribed(seat: RoomSeat, channel: string): void {
    const kind = roomChannelKind(channel);
    if (kind === "admin") this.services.lobby.queueWanted(seat.claims);
    else if (kind === "wait") this.services.lobby.answerWanted(seat.claims);
    else if (kind === "room") {
      const { times, changes, recording } = this.services;
      for (const part of [recording, times, changes]) part.noticesWanted(seat);
    }
  }

  refusalOfMessage(
    seat: RoomSeat,
    channel: string,
    dataJson: string,
  ): RoomRefusal | undefined | Promise<RoomRefusal | undefined> {
    return this.services.signals.refusalOfMessage(seat, channel, dataJson);
  }

  refusalOfState(seat: RoomSeat, channel: string, stateJson: string | null): RoomRefusal | undefined {
    return this.services.signals.refusalOfState(seat, channel, stateJson);
  }

  private async room(app: AppRow | undefined, name: string): Promise<RoomRow> {
    const room = await this.parts.rooms.room(app?.id ?? NO_APP, name, this.parts.nowMs());
    if (!room) throw new Problem("room_not_found");
    return room;
  }
}
