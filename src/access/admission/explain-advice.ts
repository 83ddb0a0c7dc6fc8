/** What to say about a refusal, and what to change. Never repeats a secret or a token; a key is named by its id. */
import { duration } from "../../base/duration.ts";
import { type Action, bitOf } from "../../protocol/actions.ts";
import { isObject, type JsonObject } from "../../protocol/json.ts";
import { REQUEST_HEAD_MAX_BYTES } from "../../protocol/limits.ts";
import { normalizeOrigin } from "../../protocol/origin.ts";
import type { KeyRow } from "../../store/contract/store.ts";
import { parseJson, parseJws, payloadOf } from "../tokens/jws.ts";
import { isRoomToken } from "../tokens/room-token.ts";
import { type AdmitParts, type Grant, keyIdOf, type Refusal } from "./admit.ts";
import { type ChannelRefusal, narrowForAction, narrowForChannel, permissionsOf } from "./permissions.ts";

/** Texts without surrounding spaces; absent where nothing was given. */
export interface Question {
  readonly key?: string | undefined;
  readonly token?: string | undefined;
  readonly origin?: string | undefined;
  readonly channel?: string | undefined;
  readonly action?: Action | undefined;
}

export interface Advice {
  readonly why?: string;
  readonly hint?: string;
}

export interface AdviceParts extends AdmitParts {
  /** The key that the question names (`namedKey`), if it is revoked: the keyring has live ones only. */
  readonly revoked: KeyRow | undefined;
}

const KEY_ID = /^(?:pk_live|sk_id)_[0-9a-f]{32}$/;

/** The id of the key that a question names: the key itself, or the `kid` of the token. */
export function namedKey({ key, token }: Question): string | undefined {
  const id = key ?? (token === undefined ? undefined : headerOf(token)?.kid);
  return typeof id === "string" && KEY_ID.test(id) ? id : undefined;
}

const headerOf = (token: string): JsonObject | undefined => {
  const parsed = parseJws(token, REQUEST_HEAD_MAX_BYTES);
  return typeof parsed === "string" ? undefined : parsed.header;
};

/** To be called only for a token whose signature has been verified. */
function subOf(token: string): string {
  const parsed = parseJws(token, REQUEST_HEAD_MAX_BYTES);
  const claims = typeof parsed === "string" ? undefined : parseJson(payloadOf(parsed));
  return isObject(claims) && typeof claims.sub === "string" ? claims.sub : "";
}

export function connectAdvice(refusal: Refusal, question: Question, parts: AdviceParts, nowMs: number): Advice {
  const { check, reason, code, retryAfterSeconds } = refusal;
  const { key = "", token = "", origin = "" } = question;
  const keyId = namedKey(question) ?? "";
  const tokenRefused = `The token is refused: ${reason}.`;
  if (isRoomToken(token)) return { why: tokenRefused, hint: ROOM_TOKEN_HINT };
  switch (check) {
    case "credential":
      return credentialAdvice(question);
    case "key":
      return misplaced(key, "key") ?? missingKey(parts.revoked, nowMs);
    case "origin":
      return originAdvice(origin, keyId, parts);
    case "token":
      return misplaced(token, "token") ?? { why: tokenRefused, hint: TOKEN_HINT };
    case "token key":
      if (parts.revoked) return missingKey(parts.revoked, nowMs);
      return parts.keyring.key(keyId)
        ? { why: `kid names ${keyId}, which is a publishable key.`, hint: KID_HINT }
        : { why: tokenRefused, hint: KID_HINT };
    case "signing secret":
      return {
        why: tokenRefused,
        hint: `Restore the master key that ${keyId} was created with: PARLEY_MASTER_KEY, or master.key in the data folder.`,
      };
    case "signature":
      return {
        why: tokenRefused,
        hint:
          code === "token_expired"
            ? `Mint a new token with the current secret of ${keyId}.`
            : `Sign with a live secret of ${keyId}: the HMAC key is the whole text sk_secret_… as UTF-8, not decoded from base64.`,
      };
    case "payload":
    case "claims":
      return {
        why: tokenRefused,
        hint: "Correct the claim in the code that creates the token, or mint tokens with POST /v1/tokens.",
      };
    case "expiry":
      return {
        why: tokenRefused,
        hint: "Mint a new token. If this one is new, compare the clock of the server that minted it.",
      };
    case "scope":
      return retryAfterSeconds === undefined
        ? {
            why: tokenRefused,
            hint: `Edit ${keyId} to allow everything the token asks for, or mint a token that asks for less.`,
          }
        : { why: tokenRefused, hint: `Wait ${duration(retryAfterSeconds * 1000)}.` };
    case "block":
      return blockAdvice(subOf(token), keyId, parts, nowMs);
  }
}

const TOKEN_HINT = "A connect token is a JWT with alg HS256, signed with a secret key. Mint one with POST /v1/tokens.";
const ROOM_TOKEN_HINT = "Enter the room again: POST /api/v1/room/:roomName/join returns a new one.";
const KID_HINT = "Set kid in the token's header to the id of a live secret key (sk_id_…), the one that signs it.";

function credentialAdvice({ key, token }: Question): Advice {
  return key !== undefined && token !== undefined
    ? { why: "The connect has both a key and a token; it must have exactly one.", hint: "Leave one of them out." }
    : {
        why: "The connect has neither a key nor a token.",
        hint: "Connect with ?key=pk_live_… (a publishable key) or with ?token=… (a token signed with a secret key).",
      };
}

/** Something else than a publishable key or a token: says what it is, without repeating it. */
function misplaced(text: string, field: "key" | "token"): Advice | undefined {
  const instead = "Connect with the id of a publishable key (pk_live_…), or with a token signed with a secret key.";
  if (text.includes("sk_secret_"))
    return {
      why: "This is the secret of a secret key. It signs tokens and calls the REST API, but cannot connect.",
      hint: `${instead} If clients may have seen this secret, rotate its key.`,
    };
  if (text.startsWith("parley_"))
    return {
      why: "This is an operator's token, not a client's.",
      hint: `${instead} If clients may have seen it, replace it.`,
    };
  if (text.startsWith("sk_id_"))
    return {
      why: "This is the id of a secret key. It identifies the key that signs tokens, but cannot connect.",
      hint: instead,
    };
  if (field === "token" && text.startsWith("pk_live_"))
    return { why: "This is the id of a publishable key, not a token.", hint: "Pass it as the key." };
  if (field === "key" && text.split(".").length === 3)
    return { why: "This looks like a token, not like the id of a key.", hint: "Pass it as the token." };
  return undefined;
}

function missingKey(revoked: KeyRow | undefined, nowMs: number): Advice {
  return revoked
    ? {
        why: `${revoked.id} was revoked ${duration(nowMs - (revoked.revoked ?? nowMs))} ago.`,
        hint: `Create another ${revoked.type} key and use that: a revoked key cannot be restored.`,
      }
    : {
        why: "No publishable key of this server has this id.",
        hint: "It is mistyped or incomplete, or belongs to another server: compare it with the application's list of keys. An id is pk_live_ followed by 32 hexadecimal digits.",
      };
}

function originAdvice(origin: string, keyId: string, { keyring }: AdviceParts): Advice {
  const key = keyring.key(keyId);
  const allowed = key?.type === "publishable" ? key.origins : [];
  const normal = normalizeOrigin(origin);
  if (normal === undefined || normal.includes("*"))
    return {
      why: "This is not the origin of a web page.",
      hint: "An origin is a scheme, a host and optionally a port, without a path: https://example.com.",
    };
  const near = allowed.find((one) => hostOf(one) === hostOf(normal));
  const list = allowed.length === 0 ? "allows no browser: its allowedOrigins is empty" : "does not allow this origin";
  return {
    why: `${keyId} ${list}${near === undefined ? "" : `, only ${near}: scheme and port must be the same`}.`,
    hint: `Add ${normal} to the allowed origins of ${keyId}, but only if the page is yours.`,
  };
}

const hostOf = (origin: string): string => origin.replace(/^.*:\/\//, "").replace(/:\d+$/, "");

function blockAdvice(peerId: string, keyId: string, { blocks, keyring }: AdviceParts, nowMs: number): Advice {
  const app = keyring.key(keyId)?.app;
  const until = app === undefined ? undefined : blocks.endOf(app, peerId, nowMs);
  const left = until === undefined ? "" : ` for another ${duration(until - nowMs)}`;
  return {
    why: `The peer ${JSON.stringify(peerId)} is blocked${left}.`,
    hint: "The block ends by itself. To end it now, unblock the peer: on the dashboard's page Peers, or with parley unblock.",
  };
}

export function frameAdvice(refusal: ChannelRefusal, grant: Grant, { channel = "", action }: Question): Advice {
  const permissions = permissionsOf(grant);
  const name = JSON.stringify(channel);
  const id = keyIdOf(grant);
  if (grant.seat && refusal !== "invalid_channel")
    return {
      why:
        refusal === "channel_not_authorized"
          ? `A room token covers the channels of its room, but not ${name}.`
          : `A room token does not permit this on ${name}.`,
      hint: "The room's fields, and the access token used to enter, decide what a participant may do.",
    };
  switch (refusal) {
    case "invalid_channel":
      return {
        why: "This is not a valid channel name.",
        hint: "A name is 1 to 256 bytes of text without control characters and '*'. Patterns can be used only in keys and tokens.",
      };
    case "channel_reserved":
      return { why: "This name is reserved for the service.", hint: "Use a name that starts differently." };
    case "action_not_permitted":
      return action !== undefined && narrowForAction(permissions, bitOf(action)) === "token"
        ? {
            why: `The token's permissions lack ${action}.`,
            hint: `Mint the token with the permission ${action}, or without permissions.`,
          }
        : { why: `The key lacks the action ${action}.`, hint: `Edit ${id}: add ${action} to its actions.` };
    case "channel_not_authorized":
      return narrowForChannel(permissions, channel) === "token"
        ? {
            why: `The token's channels do not cover ${name}.`,
            hint: `Mint the token with ${name}, or without channels.`,
          }
        : { why: `The key's patterns do not cover ${name}.`, hint: `Edit ${id}: add a pattern that covers ${name}.` };
  }
}
