/**
 * Access tokens, which a backend gives to a person who is to join a room. They are signed with a secret of the application that is
 * used for nothing else and never leaves the service.
 *
 * A token is bound to the room's id, so that it is not valid for a later room of the same name. It is also bound to the generation of the
 * application's secret key that it was minted with, so that it ends with that key's grace period.
 *
 * Validation goes in this order: parse → verify the signature → the generation → the token's times → its room and the room's times → the
 * room that the request names. The token's values take precedence over the room's.
 */
import { randomBytes } from "node:crypto";
import { FIRST_GENERATION, isLiveGeneration } from "../access/keys/app-secret.ts";
import { digestOf, type Vault } from "../access/keys/vault.ts";
import { isSignedBy, parseJson, parseJws, payloadOf, signJws } from "../access/tokens/jws.ts";
import { type AppId, asAppId } from "../base/ids.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import type { RoomRow, RoomStore } from "../store/contract/rooms.ts";
import type { AppRow } from "../store/contract/store.ts";
import { ACCESS_TOKEN_MAX_CHARS, ACCESS_TOKEN_VALIDATE_MAX_BYTES } from "./limits.ts";
import { valuesOf } from "./rooms.ts";

/** The request to mint a token; null unsets a field. */
export interface AccessTokenRequest {
  readonly roomName?: string | undefined;
  readonly globalToken?: boolean | undefined;
  readonly isAdmin?: boolean | undefined;
  readonly expireUnixSec?: number | null | undefined;
  readonly notBeforeUnixSec?: number | null | undefined;
  readonly [more: string]: string | number | boolean | null | undefined;
}

/** The claims of a token whose signature was verified. */
interface VerifiedClaims {
  /** Id of the application that has signed it. */
  readonly app: AppId;
  readonly data: AccessTokenRequest & JsonObject;
  /** Id of the room. Tokens from before this claim existed name the room only. */
  readonly roomId: string | undefined;
  readonly generation: number;
}

/** A verified token, as seen from a room that its holder wants to enter. Its times are not looked at: the room's are part of that (meetings/rules/door.ts). */
export interface VerifiedAccess {
  readonly data: AccessTokenRequest & JsonObject;
  /** Recognises the token again, and says nothing else about it. */
  readonly digest: string;
  /** It is for this room, or for all rooms. Otherwise it only says who its holder is. */
  readonly isForRoom: boolean;
  /** The generation of the application's secret key that it was minted with. */
  readonly generation: number;
  readonly expireUnixSec: number | undefined;
  readonly notBeforeUnixSec: number | undefined;
}

interface Minter {
  readonly app: AppRow;
  readonly generation: number;
}

interface Times {
  readonly expireUnixSec?: number | null | undefined;
  readonly notBeforeUnixSec?: number | null | undefined;
}

/** Enough that no two tokens of a second are the same. */
const JTI_BYTES = 8;

/** Stands for an unknown application, so that its tokens are refused in the same time as wrong ones. The value is no id of an application. */
const UNKNOWN_APP = asAppId("unknown");

export class AccessTokens {
  /** Signing secrets by application. Bound: one per application, and UNKNOWN_APP. */
  private readonly secrets = new Map<string, Buffer>();

  constructor(
    private readonly store: RoomStore,
    private readonly vault: Vault,
    private readonly nowMs: () => number,
  ) {}

  /** `generation` is that of the secret key in the request: the token ends with it. */
  async mint({ app, generation }: Minter, request: AccessTokenRequest): Promise<string> {
    const now = this.nowMs();
    if (request.isAdmin && request.roomName === undefined && request.globalToken !== true)
      throw refusal("isAdmin", "without roomName, this creates an admin of every room: confirm with globalToken: true");
    const room = request.roomName === undefined ? undefined : await this.store.room(app.id, request.roomName, now);
    if (request.roomName !== undefined && !room) throw new Problem("room_not_found");
    const bound = isGlobal(request) ? undefined : room;
    refuseUseless(timesOf(request, bound), now);
    const data = Object.fromEntries(
      Object.entries(request).filter(([, value]) => value !== null && value !== undefined),
    );
    const { expireUnixSec: exp, notBeforeUnixSec: nbf } = request;
    const payload = {
      data: { ...data, appName: app.name },
      iat: Math.floor(now / 1000),
      // Two people may be given tokens with the same data in the same second: who is removed is known by the token.
      jti: randomBytes(JTI_BYTES).toString("base64url"),
      ...(exp && { exp }),
      ...(nbf && { nbf }),
      ...(bound && { room: bound.id }),
      gen: generation,
    };
    const token = signJws({}, payload, this.secretOf(app.id));
    // Only non-ASCII texts of the full length make a token longer than this.
    if (token.length > ACCESS_TOKEN_MAX_CHARS)
      throw refusal(
        "meta",
        `the token would have more than ${ACCESS_TOKEN_MAX_CHARS} characters; make its texts shorter`,
      );
    return token;
  }

  /**
   * Returns the data of a valid token; with `roomName`, it must be valid for that room. `app` is undefined if there is no such
   * application: then the token is refused like one with a wrong signature.
   */
  async validate(app: AppRow | undefined, token: string, roomName: string | undefined): Promise<JsonObject> {
    const claims = this.verifiedClaims(app, token);
    const now = this.nowMs();
    refuseOutOfTime(timesOf(claims.data), now, "The access token");
    if (!isGlobal(claims.data)) await this.checkRoom(claims, now);
    if (roomName !== undefined) await this.checkEntry(roomName, claims, now);
    return claims.data;
  }

  /**
   * The claims of a token whose holder wants to enter `room`. undefined: it is a token of another room, which counts as none in a private
   * room, and anywhere if it is not valid any more. Throws if this service has not made the token, or its secret key was rotated.
   */
  async verify(app: AppRow, token: string, room: RoomRow): Promise<VerifiedAccess | undefined> {
    const claims = this.verifiedClaims(app, token);
    const isForRoom = isFor(claims, room);
    if (!isForRoom && (valuesOf(room).privacy === "private" || !(await this.isInTime(claims)))) return undefined;
    return {
      data: claims.data,
      digest: digestOf(token),
      isForRoom,
      generation: claims.generation,
      expireUnixSec: claims.data.expireUnixSec ?? undefined,
      notBeforeUnixSec: claims.data.notBeforeUnixSec ?? undefined,
    };
  }

  /**
   * The digest of a token that this service has made for the application, under a secret key that still works; undefined: it is none. Asks no store, so it can
   * be decided before anything is charged to anyone.
   */
  holderOf(app: AppRow | undefined, token: string): string | undefined {
    try {
      this.verifiedClaims(app, token);
      return digestOf(token);
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  }

  private async isInTime(claims: VerifiedClaims): Promise<boolean> {
    try {
      const now = this.nowMs();
      refuseOutOfTime(timesOf(claims.data), now, "The access token");
      await this.checkRoom(claims, now);
      return true;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  }

  /** The signature and the generation; not the times. */
  private verifiedClaims(app: AppRow | undefined, token: string): VerifiedClaims {
    const parsed = parseJws(token, ACCESS_TOKEN_VALIDATE_MAX_BYTES);
    // Compared even if there is no application, so that the time does not reveal that.
    const isVerified = typeof parsed !== "string" && isSignedBy(parsed, this.secretOf(app?.id ?? UNKNOWN_APP));
    if (!app || !isVerified) throw invalid();
    const claims = { app: app.id, ...read(payloadOf(parsed)) };
    if (!isLiveGeneration(app, claims.generation, this.nowMs()))
      throw invalid("The application's secret key was rotated after the access token was created.");
    return claims;
  }

  private async checkRoom({ app, data, roomId }: VerifiedClaims, nowMs: number): Promise<void> {
    const room =
      roomId === undefined
        ? await this.store.room(app, data.roomName ?? "", nowMs)
        : await this.store.roomById(app, roomId, nowMs);
    if (!room) throw invalid("The access token's room no longer exists.");
    refuseOutOfTime(timesOf(data, room), nowMs, "The room");
  }

  /** Any valid token is good for a public room; a private room needs a token for all rooms, or for this one. */
  private async checkEntry(name: string, claims: VerifiedClaims, nowMs: number): Promise<void> {
    const room = await this.store.room(claims.app, name, nowMs);
    if (!room) throw invalid("No room has this name.");
    const isForRoom = isFor(claims, room);
    if (valuesOf(room).privacy === "private" && !isForRoom) throw invalid("The access token is for another room.");
    refuseOutOfTime(timesOf(isForRoom ? claims.data : {}, room), nowMs, "The room");
  }

  /** Derived from the master key for this use and this application, so that it need not be stored. */
  private secretOf(app: AppId): Buffer {
    let secret = this.secrets.get(app);
    if (!secret) {
      secret = this.vault.derive(`access tokens of ${app}`);
      this.secrets.set(app, secret);
    }
    return secret;
  }
}

/** The signature is verified, so this service made the token; its structure is checked nevertheless. */
function read(text: string | undefined): Omit<VerifiedClaims, "app"> {
  const payload = parseJson(text);
  if (!isObject(payload) || !isObject(payload.data)) throw invalid();
  const { room, gen } = payload;
  return {
    data: payload.data as AccessTokenRequest & JsonObject,
    roomId: typeof room === "string" ? room : undefined,
    generation: typeof gen === "number" ? gen : FIRST_GENERATION,
  };
}

/** Whether the token is for every room of the application. */
const isGlobal = ({ roomName, globalToken }: AccessTokenRequest): boolean =>
  roomName === undefined || globalToken === true;

const isFor = ({ data, roomId }: VerifiedClaims, room: RoomRow): boolean =>
  isGlobal(data) || (roomId === undefined ? data.roomName === room.name : roomId === room.id);

function timesOf(request: Times, room?: RoomRow): Times {
  const { expireUnixSec, notBeforeUnixSec } = room ? valuesOf(room) : {};
  return {
    expireUnixSec: request.expireUnixSec ?? expireUnixSec,
    notBeforeUnixSec: request.notBeforeUnixSec ?? notBeforeUnixSec,
  };
}

/** Refuses to mint a token that could never be valid. */
function refuseUseless({ expireUnixSec, notBeforeUnixSec }: Times, nowMs: number): void {
  if (!expireUnixSec) return;
  if (expireUnixSec * 1000 <= nowMs) throw refusal("expireUnixSec", "it is in the past");
  if (notBeforeUnixSec && notBeforeUnixSec >= expireUnixSec)
    throw refusal("expireUnixSec", "it must be after notBeforeUnixSec");
}

function refuseOutOfTime({ expireUnixSec, notBeforeUnixSec }: Times, nowMs: number, what: string): void {
  if (expireUnixSec && expireUnixSec * 1000 <= nowMs) throw invalid(`${what} has expired.`);
  if (notBeforeUnixSec && notBeforeUnixSec * 1000 > nowMs) throw invalid(`${what} is not open yet.`);
}

const invalid = (message?: string): Problem => new Problem("invalid_access_token", message);

const refusal = (field: string, message: string): Problem =>
  new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
