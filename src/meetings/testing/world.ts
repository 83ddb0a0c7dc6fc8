/** For tests: nodes with meetings on one real store, joined by fake floors; no one needs a socket. Time is what the test says. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isLiveRoomToken } from "../../access/keys/app-secret.ts";
import { newObjectId } from "../../access/keys/ids.ts";
import { Vault } from "../../access/keys/vault.ts";
import { type RoomClaims, type RoomSeat, RoomTokens, seatOf } from "../../access/tokens/room-token.ts";
import { steadyClock } from "../../base/clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { AccessTokens } from "../../rooms/access-token.ts";
import { Expiry } from "../../rooms/expiry.ts";
import { type RoomEdits, Rooms } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { AppRow } from "../../store/contract/store.ts";
import { openStore } from "../../store/open.ts";
import type { SqlStore } from "../../store/sql/store.ts";
import { appRow } from "../../store/testing/rows.ts";
import { buildMeetings } from "../build.ts";
import type { Joined } from "../contract/contract.ts";
import type { IceServers, JoinBudget } from "../contract/ports.ts";
import type { Caller } from "../entrance/joining.ts";
import { generationOfTicket, waitIdOf } from "../entrance/tickets.ts";
import type { MeetingServices, Meetings } from "../meetings.ts";
import type { IsLive } from "../stays/generations.ts";
import { type FakeFloor, FakeFloors } from "./fake-floor.ts";

export const APP = anAppId("app");

/** Who pays is decided by HTTP: here no one does. */
export const NO_LIMITS: JoinBudget = {
  own: () => undefined,
  token: () => undefined,
  refused: () => undefined,
  stranger: () => undefined,
  guest: () => undefined,
  guestOf: () => () => undefined,
};

/** Where a join comes from; `address` stands for a digest. */
export const callerAt = (address = "a", budget = NO_LIMITS): Caller => ({
  address,
  url: "ws://app.localhost/v1",
  budget,
});

export interface WorldNode {
  readonly meetings: Meetings;
  readonly services: MeetingServices;
  readonly floor: FakeFloor;
}

/** A person with a connection. */
export interface Someone {
  readonly seat: RoomSeat;
  readonly token: string;
  readonly id: string;
  readonly connection: string;
}

/** Its id is the waitId. */
export interface Visitor extends Someone {
  readonly ticket: string;
}

export class World {
  readonly floors = new FakeFloors();
  readonly tokens: RoomTokens;
  readonly failures: unknown[] = [];
  now = 1_800_000_000_000;
  /** As all nodes know it. */
  app: AppRow = appRow(APP);
  readonly vault = new Vault(Buffer.alloc(32, 7));
  private connections = 0;
  private nodes = 0;

  private constructor(
    readonly store: SqlStore,
    private readonly folder: string,
  ) {
    this.tokens = new RoomTokens(this.vault);
  }

  static async open(): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), "parley-meetings-"));
    const store = await openStore(folder);
    await store.change((change) => change.putApp(appRow(APP)));
    return new World(store, folder);
  }

  async close(): Promise<void> {
    await this.store.close();
    rmSync(this.folder, { recursive: true });
  }

  /** By how much the wall clock was set: the time that has passed is another matter. */
  setMs = 0;

  /** For joins. */
  iceServers: IceServers = () => [];

  readonly nowMs = (): number => this.now + this.setMs;
  readonly monotonicMs = (): number => this.now;
  readonly steadyMs = steadyClock(this.nowMs, this.monotonicMs);
  readonly isLive: IsLive = (claims) => isLiveRoomToken(this.app, claims, this.nowMs());

  /** The secret key of the application is rotated; the current one works for that much longer. */
  rotate(graceSec = 0): void {
    const { secretSeq: seq, secretDigest: digest } = this.app;
    const ends = this.nowMs() + graceSec * 1000;
    this.app = { ...this.app, secretSeq: seq + 1, previousSecrets: graceSec > 0 ? [{ seq, digest, ends }] : [] };
  }

  /** The rooms of one node: it hears of the edits that are made there. */
  node(): WorldNode & { readonly rooms: Rooms } {
    const { store, tokens, nowMs, monotonicMs, steadyMs, vault, isLive } = this;
    const failed = (error: unknown): void => {
      this.failures.push(error);
    };
    const expiry = new Expiry({
      store: store.rooms,
      nowMs,
      archived: () => undefined,
      failed,
      guarded: (callback) => () => void callback(),
    });
    expiry.schedule = () => undefined;
    const rooms = new Rooms(store.rooms, expiry, nowMs, 1000);
    const floor = this.floors.node();
    const meetings = buildMeetings({
      store: store.meetings,
      rooms: store.rooms,
      roomChanges: rooms,
      accessTokens: new AccessTokens(store.rooms, vault, nowMs),
      roomTokens: tokens,
      floor,
      nodeId: `node-${++this.nodes}`,
      nowMs,
      monotonicMs,
      steadyMs,
      meshMax: 6,
      iceServers: (...join) => this.iceServers(...join),
      isLive,
      failed,
    });
    return { meetings, services: meetings.services, floor, rooms };
  }

  async room(rooms: Rooms, edits: RoomEdits = {}): Promise<RoomRow> {
    const { roomName } = await rooms.create(APP, { roomName: "standup", ...edits });
    return rooms.row(APP, roomName);
  }

  /** A person enters, on that node. */
  async enter({ meetings }: WorldNode, room: RoomRow, claims: Partial<RoomClaims> = {}): Promise<Someone> {
    const id = newObjectId(this.now);
    const whole: RoomClaims = {
      kind: "stay",
      id,
      app: APP,
      room: room.id,
      name: "Ada",
      isAdmin: false,
      isGuest: claims.accessToken === undefined,
      exp: Math.floor(this.now / 1000) + 86_400,
      // A private room lets no one else in.
      ...(room.fields.privacy === "private" && { accessToken: `token of ${id}`, opens: {} }),
      ...claims,
    };
    return this.connect(meetings, whole);
  }

  async connect(meetings: Meetings, claims: RoomClaims): Promise<Someone> {
    const seat = seatOf(claims);
    await meetings.enter(seat);
    const connection = `connection-${++this.connections}`;
    meetings.connected(seat, connection);
    return { seat, token: this.tokens.sign(claims), id: claims.id, connection };
  }

  /** A person enters with the answer of a join. */
  take({ meetings }: WorldNode, { connect }: Joined): Promise<Someone> {
    const claims = this.tokens.verify(connect.token, this.now);
    if (claims === undefined || claims === "expired") throw new Error("the connect token is not valid");
    return this.connect(meetings, claims);
  }

  /** A person waits in the lobby, on that node. */
  async wait({ services, meetings }: WorldNode, room: RoomRow, name = "Bob", address = "address"): Promise<Visitor> {
    const ticket = await services.lobby.ask(room, { name, address, generation: this.app.secretSeq });
    const visitor = await this.connect(meetings, {
      kind: "wait",
      id: waitIdOf(ticket),
      app: APP,
      room: room.id,
      name,
      isAdmin: false,
      isGuest: true,
      gen: generationOfTicket(ticket),
      exp: Math.floor(this.now / 1000) + 1800,
    });
    return { ...visitor, ticket };
  }

  /** The node is killed: it answers nothing any more. */
  kill({ floor }: WorldNode): void {
    this.floors.nodes.splice(this.floors.nodes.indexOf(floor), 1);
  }

  /** Who is shown in the room, with what they share. */
  members(room: RoomRow, states: Readonly<Record<string, Readonly<Record<string, boolean>>>>): void {
    this.floors.members.set(
      room.id,
      Object.entries(states).map(([peerId, state]) => ({ peerId, state: { ...state } })),
    );
  }
}
