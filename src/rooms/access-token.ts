/**
 * Access tokens: what a backend gives to somebody who is to join a room. Signed with a secret of the application that is made
 * for nothing else and never leaves the service.
 *
 * A token gains trust in this order: parse → verify the signature → its own times → its room, the room's times → the room
 * that is asked about. A token's values win over the room's.
 */

import { randomBytes } from "node:crypto";
import { newSigningSecret } from "../access/ids.ts";
import { isSignedBy, parseJws, parseUtf8Json, signJws } from "../access/jws.ts";
import { accessTokenSecretIdentity, type Vault } from "../access/vault.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { REST_BODY_MAX_BYTES } from "../protocol/limits.ts";
import type { RoomRow, RoomStore } from "../store/rooms.ts";
import type { AppRow } from "../store/store.ts";
import { valuesOf } from "./rooms.ts";

/** What the call to mint one names; null was said to unset. */
export interface AccessTokenWish {
  readonly roomName?: string | undefined;
  readonly globalToken?: boolean | undefined;
  readonly expireUnixSec?: number | null | undefined;
  readonly notBeforeUnixSec?: number | null | undefined;
  readonly [more: string]: string | number | boolean | null | undefined;
}

interface Times {
  readonly expireUnixSec?: number | null | undefined;
  readonly notBeforeUnixSec?: number | null | undefined;
}

export class AccessTokens {
  /** By application. They are made once and never change. */
  private readonly secrets = new Map<string, Buffer>();

  constructor(
    private readonly store: RoomStore,
    private readonly vault: Vault,
    private readonly nowMs: () => number,
  ) {}

  async mint(app: AppRow, wish: AccessTokenWish): Promise<string> {
    const now = this.nowMs();
    const room = wish.roomName === undefined ? undefined : await this.store.room(app.id, wish.roomName, now);
    if (wish.roomName !== undefined && !room) throw new Problem("room_not_found");
    refuseUseless(timesOf(wish, isGlobal(wish) ? undefined : room), now);
    const data = Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== null && value !== undefined));
    const { expireUnixSec: exp, notBeforeUnixSec: nbf } = wish;
    const payload = {
      data: { ...data, appName: app.name },
      iat: Math.floor(now / 1000),
      ...(exp && { exp }),
      ...(nbf && { nbf }),
    };
    return signJws({}, payload, await this.secretOf(app.id));
  }

  /**
   * What the token says, if it is good; with `roomName`, whether it is good for that room. `app` is undefined where there is
   * no such application: then the answer is that of a wrong signature.
   */
  async validate(app: AppRow | undefined, token: string, roomName: string | undefined): Promise<JsonObject> {
    const parsed = parseJws(token, REST_BODY_MAX_BYTES);
    const secret = await this.knownSecretOf(app?.id ?? "");
    // Compared even where there is nothing to compare with, so that it takes as long.
    const isRight = typeof parsed !== "string" && isSignedBy(parsed, secret ?? NO_SECRET);
    if (!app || !secret || !isRight) throw invalid();
    const payload = parseUtf8Json(parsed.payload);
    const data = isObject(payload) ? payload.data : undefined;
    // We have signed it, so it is of our making; its shape is looked at all the same.
    if (!isObject(data)) throw invalid();
    const wish = data as AccessTokenWish & JsonObject;
    const now = this.nowMs();
    refuseOutOfTime(timesOf(wish), now, "The access token");
    if (!isGlobal(wish)) await this.checkRoom(app.id, wish.roomName ?? "", wish, now);
    if (roomName !== undefined) await this.checkEntry(app.id, roomName, wish, now);
    return data;
  }

  private async checkRoom(app: string, name: string, wish: Times, nowMs: number): Promise<RoomRow> {
    const room = await this.store.room(app, name, nowMs);
    if (!room) throw invalid("The room of the access token is not there any more.");
    refuseOutOfTime(timesOf(wish, room), nowMs, "The room");
    return room;
  }

  /** A public room lets anyone in; a private one a token for all rooms, or for this one. */
  private async checkEntry(app: string, name: string, wish: AccessTokenWish, nowMs: number): Promise<void> {
    const room = await this.store.room(app, name, nowMs);
    if (!room) throw invalid("There is no room of this name.");
    const isMeant = isGlobal(wish) || wish.roomName === room.name;
    if (valuesOf(room).privacy === "private" && !isMeant) throw invalid("The access token is for another room.");
    refuseOutOfTime(timesOf(isMeant ? wish : {}, room), nowMs, "The room");
  }

  private async secretOf(app: string): Promise<Buffer> {
    const known = await this.knownSecretOf(app);
    if (known) return known;
    const sealed = this.vault.seal(newSigningSecret(), accessTokenSecretIdentity(app));
    // Another node may have been first: then its secret is the one.
    return this.opened(app, await this.store.putTokenSecret(app, sealed, this.nowMs()));
  }

  /** undefined: none was ever needed, so no token can be good. */
  private async knownSecretOf(app: string): Promise<Buffer | undefined> {
    const cached = this.secrets.get(app);
    if (cached) return cached;
    const sealed = await this.store.tokenSecret(app);
    return sealed === undefined ? undefined : this.opened(app, sealed);
  }

  private opened(app: string, sealed: string): Buffer {
    const secret = this.vault.open(sealed, accessTokenSecretIdentity(app));
    if (secret === undefined)
      throw new Problem("internal_error", "The secret of this application's access tokens cannot be decrypted.");
    const key = Buffer.from(secret, "utf8");
    this.secrets.set(app, key);
    return key;
  }
}

const NO_SECRET = randomBytes(32);

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
  const refuse = (message: string): never => {
    const details = [{ field: "expireUnixSec", message }];
    throw new Problem("invalid_request", `expireUnixSec: ${message}`, undefined, { details });
  };
  if (expireUnixSec * 1000 <= nowMs) refuse("it has passed already");
  if (notBeforeUnixSec && notBeforeUnixSec >= expireUnixSec) refuse("it must lie after notBeforeUnixSec");
}

function refuseOutOfTime({ expireUnixSec, notBeforeUnixSec }: Times, nowMs: number, what: string): void {
  if (expireUnixSec && expireUnixSec * 1000 <= nowMs) throw invalid(`${what} has expired.`);
  if (notBeforeUnixSec && notBeforeUnixSec * 1000 > nowMs) throw invalid(`${what} is not open yet.`);
}

const invalid = (message?: string): Problem => new Problem("invalid_access_token", message);
