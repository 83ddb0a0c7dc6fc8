/** Rooms that people enter: rooms, joins over HTTP, and connections with what a join has answered. */
import { Application } from "../../../support/application.ts";
import type { Answer, Json } from "../../../support/http.ts";
import { payloadOf } from "../../../support/jwt.ts";
import type { Server } from "../../../support/parley.ts";
import { attempt, connect, type Refused } from "../../../support/wire/connect.ts";
import type { Frame } from "../../../support/wire/shapes.ts";
import { Wire } from "../../../support/wire/wire.ts";
import { fresh, join, tokenQuery } from "./world.ts";

/** Joins are limited by address: with this a test has as many as it needs. */
export const ROOMS_ENV = { PARLEY_TRUSTED_PROXIES: "127.0.0.1" };

export interface Joined {
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly connect: { readonly url: string; readonly token: string };
  readonly waiting?: true;
  readonly ticket?: string;
}

/** A participant or visitor whose connection is open. */
export interface Person {
  readonly wire: Wire;
  readonly id: string;
  readonly token: string;
  readonly join: Joined;
  readonly welcome: Frame<"welcome">;
}

let addresses = 0;
const freshAddress = (): string => `10.${(++addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;

export class Room {
  constructor(
    readonly app: Application,
    readonly name: string,
    /** As the channels name it. */
    readonly id: string,
  ) {}

  channel(rest: string): string {
    return `_parley/room/${this.id}/${rest}`;
  }

  tryJoin(body: Json = {}): Promise<Answer<Joined & { error: { code: string }; retryAfterSec?: number }>> {
    const headers = { "X-Forwarded-For": freshAddress(), Authorization: "" };
    return this.app.call("POST", `/room/${this.name}/join`, body, { headers }) as never;
  }

  async join(body: Json = {}): Promise<Joined> {
    const { status, text, body: joined } = await this.tryJoin(body);
    if (status !== 200) throw new Error(`join: ${status} ${text}`);
    return joined;
  }

  /** An access token of this room. */
  async accessToken(body: Json = {}): Promise<string> {
    return (await this.app.must<{ token: string }>("POST", "/token", { roomName: this.name, ...body })).token;
  }

  act(token: string, body: Json): Promise<Answer<Json>> {
    const headers = { "X-Forwarded-For": freshAddress() };
    return this.app.call("POST", `/room/${this.name}/act`, body, { bearer: token, headers });
  }

  /** Joins and connects; `wire` has read its welcome. */
  async enter(body: Json = {}): Promise<Person> {
    return this.connected(await this.join(body));
  }

  async connected(joined: Joined, url = this.app.url): Promise<Person> {
    const { token } = joined.connect;
    const wire = await connect(url, { query: tokenQuery(token) });
    const welcome = await wire.frame("welcome");
    return { wire, id: welcome.peerId, token, join: joined, welcome };
  }

  /** The same, in the room: its roster is read. */
  async inside(body: Json = {}, fields: object = {}): Promise<Person & { readonly roster: Frame<"presence"> }> {
    const person = await this.enter(body);
    return { ...person, roster: await join(person.wire, this.channel("room"), fields) };
  }
}

/** A room with these fields, of a fresh application or of this one. */
export async function newRoom(server: Server, fields: Json = {}, app?: Application): Promise<Room> {
  const of = app ?? (await newRoomApp(server));
  const name = fresh("room");
  const { _id } = await of.must<{ _id: string }>("POST", "/room", { roomName: name, privacy: "public", ...fields });
  return new Room(of, name, _id);
}

export async function newRoomApp(server: Pick<Server, "url" | "admin">): Promise<Application> {
  const { _id, name, secretKey } = await server.admin.createApp();
  return new Application(server.url, name, secretKey, _id);
}

/** A connect that must not succeed. */
export async function refusedConnect(url: string, token: string): Promise<Refused> {
  const answer = await attempt(url, { query: tokenQuery(token) });
  if (answer instanceof Wire) throw new Error("it was let in");
  return answer;
}

/** The claims of a token of a room. */
export const claimsOf = (token: string): Json => payloadOf(token.replace(/^rt_/, ""));
