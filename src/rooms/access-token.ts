/**
 * Access tokens: what a backend gives to somebody who is to join a room. Signed with a secret of the application that is
 * derived for nothing else and never leaves the service.
 *
 * It is bound to the room's id, so that a later room of the same name does not take it, and to the generation of the
 * application's secret key that it was minted with, so that it ends with that one, after its grace.
 *
 * A token gains trust in this order: parse → verify the signature → the generation → its own times → its room, the room's
 * times → the room that is asked about. A token's values win over the room's.
 */
import { isLiveGeneration } from "../access/app-secret.ts";
import { isSignedBy, parseJws, parseUtf8Json, signJws } from "../access/jws.ts";
import type { Vault } from "../access/vault.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import type { RoomRow, RoomStore } from "../store/rooms.ts";
import type { AppRow } from "../store/store.ts";
import { ACCESS_TOKEN_MAX_CHARS, ACCESS_TOKEN_QUESTION_MAX_BYTES } from "./limits.ts";
import { valuesOf } from "./rooms.ts";

/** What the call to mint one names; null was said to unset. */
export interface AccessTokenWish {
  readonly roomName?: string | undefined;
  readonly globalToken?: boolean | undefined;
  readonly isAdmin?: boolean | undefined;
  readonly expireUnixSec?: number | null | undefined;
  readonly notBeforeUnixSec?: number | null | undefined;
  readonly [more: string]: string | number | boolean | null | undefined;
}

/** What a token says of itself, once its signature is right. */
interface Said {
  readonly data: AccessTokenWish & JsonObject;
  /** Of its room. Tokens from before there was this claim have their room's name only. */
  readonly roomId: string | undefined;
  readonly generation: number;
}

/** Of tokens that do not say: they were made before any rotation with a grace. */
const FIRST_GENERATION = 1;

interface Minter {
  readonly app: AppRow;
  readonly generation: number;
}

interface Times {
  readonly expireUnixSec?: number | null | undefined;
  readonly notBeforeUnixSec?: number | null | undefined;
}

/** No id of an application: a token for nobody is refused in the time of one that is wrong. */
const NOBODY = "nobody";

export class AccessTokens {
  /** By application. */
  private readonly secrets = new Map<string, Buffer>();

  constructor(
    private readonly store: RoomStore,
    private readonly vault: Vault,
    private readonly nowMs: () => number,
  ) {}

  /** `generation` is that of the secret key which the request showed: its tokens end with it. */
  async mint({ app, generation }: Minter, wish: AccessTokenWish): Promise<string> {
    const now = this.nowMs();
    if (wish.isAdmin && wish.roomName === undefined && wish.globalToken !== true)
      throw refusal("isAdmin", "without roomName it makes an admin of every room: say so with globalToken: true");
    const room = wish.roomName === undefined ? undefined : await this.store.room(app.id, wish.roomName, now);
    if (wish.roomName !== undefined && !room) throw new Problem("room_not_found");
    const bound = isGlobal(wish) ? undefined : room;
    refuseUseless(timesOf(wish, bound), now);
    const data = Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== null && value !== undefined));
    const { expireUnixSec: exp, notBeforeUnixSec: nbf } = wish;
    const payload = {
      data: { ...data, appName: app.name },
      iat: Math.floor(now / 1000),
      ...(exp && { exp }),
      ...(nbf && { nbf }),
      ...(bound && { room: bound.id }),
      gen: generation,
    };
    const token = signJws({}, payload, this.secretOf(app.id));
    // Only texts beyond ASCII at their full length make one so long.
    if (token.length > ACCESS_TOKEN_MAX_CHARS)
      throw refusal(
        "meta",
        `the token would have more than ${ACCESS_TOKEN_MAX_CHARS} characters; make its texts shorter`,
      );
    return token;
  }

  /**
   * What the token says, if it is good; with `roomName`, whether it is good for that room. `app` is undefined where there is
   * no such application: then the answer is that of a wrong signature.
   */
  async validate(app: AppRow | undefined, token: string, roomName: string | undefined): Promise<JsonObject> {
    const parsed = parseJws(token, ACCESS_TOKEN_QUESTION_MAX_BYTES);
    // Compared even where there is no application, so that it takes as long.
    const isRight = typeof parsed !== "string" && isSignedBy(parsed, this.secretOf(app?.id ?? NOBODY));
    if (!app || !isRight) throw invalid();
    const said = read(parsed.payload);
    const now = this.nowMs();
    if (!isLiveGeneration(app, said.generation, now))
      throw invalid("The application's secret key has been rotated since the access token was made.");
    refuseOutOfTime(timesOf(said.data), now, "The access token");
    if (!isGlobal(said.data)) await this.checkRoom(app.id, said, now);
    if (roomName !== undefined) await this.checkEntry(app.id, roomName, said, now);
    return said.data;
  }

  private async checkRoom(app: string, { data, roomId }: Said, nowMs: number): Promise<void> {
    const room =
      roomId === undefined
        ? await this.store.room(app, data.roomName ?? "", nowMs)
        : await this.store.roomById(app, roomId, nowMs);
    if (!room) throw invalid("The room of the access token is not there any more.");
    refuseOutOfTime(timesOf(data, room), nowMs, "The room");
  }

  /** A public room lets anyone in; a private one a token for all rooms, or for this one. */
  private async checkEntry(app: string, name: string, { data, roomId }: Said, nowMs: number): Promise<void> {
    const room = await this.store.room(app, name, nowMs);
    if (!room) throw invalid("There is no room of this name.");
    const isMeant = isGlobal(data) || (roomId === undefined ? data.roomName === room.name : roomId === room.id);
    if (valuesOf(room).privacy === "private" && !isMeant) throw invalid("The access token is for another room.");
    refuseOutOfTime(timesOf(isMeant ? data : {}, room), nowMs, "The room");
  }

  /** Derived from the master key, for this use and this application alone: there is nothing to keep or to lose. */
  private secretOf(app: string): Buffer {
    let secret = this.secrets.get(app);
    if (!secret) {
      secret = this.vault.derive(`access tokens of ${app}`);
      this.secrets.set(app, secret);
    }
    return secret;
  }
}

/** We have signed it, so it is of our making; its shape is looked at all the same. */
function read(bytes: Buffer): Said {
  const payload = parseUtf8Json(bytes);
  if (!isObject(payload) || !isObject(payload.data)) throw invalid();
  const { room, gen } = payload;
  return {
    data: payload.data as AccessTokenWish & JsonObject,
    roomId: typeof room === "string" ? room : undefined,
    generation: typeof gen === "number" ? gen : FIRST_GENERATION,
  };
}

/** For every room of the application. */
const isGlobal = ({ roomName, globalToken }: AccessTokenWish): boolean =>
  roomName === undefined || globalToken === true;

function timesOf(wish: Times, room?: RoomRow): Times {
  const { expireUnixSec, notBeforeUnixSec } = room ? valuesOf(room) : {};
  return {
    expireUnixSec: wish.expireUnixSec ?? expireUnixSec,
    notBeforeUnixSec: wish.notBeforeUnixSec ?? notBeforeUnixSec,
  };
}

/** A token that could never be good is no token. */
function refuseUseless({ expireUnixSec, notBeforeUnixSec }: Times, nowMs: number): void {
  if (!expireUnixSec) return;
  if (expireUnixSec * 1000 <= nowMs) throw refusal("expireUnixSec", "it has passed already");
  if (notBeforeUnixSec && notBeforeUnixSec >= expireUnixSec)
    throw refusal("expireUnixSec", "it must lie after notBeforeUnixSec");
}

function refuseOutOfTime({ expireUnixSec, notBeforeUnixSec }: Times, nowMs: number, what: string): void {
  if (expireUnixSec && expireUnixSec * 1000 <= nowMs) throw invalid(`${what} has expired.`);
  if (notBeforeUnixSec && notBeforeUnixSec * 1000 > nowMs) throw invalid(`${what} is not open yet.`);
}

const invalid = (message?: string): Problem => new Problem("invalid_access_token", message);

const refusal = (field: string, message: string): Problem =>
  new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
