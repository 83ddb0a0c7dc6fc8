/** Reads what messages between nodes contain: messages of clients and members of channels. Untrusted, like the texts they are in. */
import type { AppId } from "../../../base/ids.ts";
import { isJsonValue } from "../../../protocol/large-frames.ts";
import { isMessageId, isPeerId } from "../../../protocol/names.ts";
import { parsePosition } from "../../../protocol/position.ts";
import { parseBounded } from "../../bounded-json.ts";
import type { Envelope, Lingers, MemberState, Stored } from "../../engine.ts";
import { PARTS_MAX } from "./payload.ts";

export type Fields = readonly unknown[];

/** Messages of nodes nest six levels at most. */
const DEPTH_MAX = 16;
export const parseJson = (text: string): unknown => parseBounded(text, DEPTH_MAX);

export const isText = (value: unknown): value is string => typeof value === "string";
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
/** Nodes use UUIDs. The name becomes part of a subject, and a server may close a connection over a long subject. */
const NODE_NAME = /^[\w~-]{1,64}$/;
export const isNode = (value: unknown): value is string => isText(value) && NODE_NAME.test(value);
export const nodeOf = (value: unknown): string | undefined => (isNode(value) ? value : undefined);

/** An application's id has 24 characters. */
const APP_MAX_CHARS = 128;
export const isApp = (value: unknown): value is AppId => isText(value) && value.length <= APP_MAX_CHARS;
const NAME_MAX_CHARS = 128;
/** The id of a key or of a connection. */
const isName = (value: unknown): value is string => isText(value) && value.length <= NAME_MAX_CHARS;

/**
 * Metadata and data are copied into frames unchanged, so each of them must be valid JSON. No more is asked of them: what the node of the
 * sender has accepted must not be lost here.
 */
export function envelopeOf(
  from: unknown,
  metadataChars: unknown,
  body: string,
  [id, ...place]: Fields,
): Envelope | undefined {
  if (!isPeerId(from) || !isNumber(metadataChars)) return undefined;
  const stored = storedOf(place);
  if (stored === "invalid" || (id !== undefined && id !== null && !isMessageId(id))) return undefined;
  const metadataJson = metadataChars < 0 ? undefined : body.slice(0, metadataChars);
  const dataJson = metadataChars < 0 ? body : body.slice(metadataChars);
  if (!isJsonValue(dataJson) || (metadataJson !== undefined && !isObjectText(metadataJson))) return undefined;
  return { from, metadataJson, dataJson, ...(isMessageId(id) && { id }), ...(stored && { stored }) };
}

/** Where a message is in the stream of its channel; `undefined` for a message of a channel without history. */
function storedOf([epoch, offset, check, time, connection]: Fields): Stored | undefined | "invalid" {
  if (epoch === undefined) return undefined;
  const position = isText(epoch) && isText(check) && isCount(offset) && parsePosition(`${epoch}.${offset}.${check}`);
  if (!position || !isCount(time) || (connection !== null && !isName(connection))) return "invalid";
  return { ...position, time, connection: connection ?? undefined };
}

const isObjectText = (text: string): boolean => text.startsWith("{") && isJsonValue(text);

/** What a process of the same build has written for its own kind. */
export function trustedMemberOf(
  [peerId, since, metadata, arriving, state, why, untilMs, keyId, returning, leftMs, node, hadOther]: Fields,
  sender: string,
): MemberState {
  return {
    peerId: peerId as string,
    since: since as number,
    node: (node ?? sender) as string,
    metadataJson: (metadata ?? undefined) as string | undefined,
    ...(arriving === true && { isArriving: true }),
    ...(returning === true && { isReturning: true }),
    ...(isText(state) && { stateJson: state }),
    ...(why ? { lingers: lingersOf(why, untilMs, keyId, leftMs, hadOther) as Lingers } : isText(keyId) && { keyId }),
  };
}

/** `sender`: the node that says so. Its members are its own unless they name another node. */
export function memberOf(value: unknown, sender: string): MemberState | undefined {
  if (!Array.isArray(value)) return undefined;
  const [peerId, since, metadata, arriving, state, why, untilMs, keyId, returning, leftMs, node, hadOther] =
    value as Fields;
  if (!isPeerId(peerId) || !isNumber(since)) return undefined;
  const metadataJson = metadata ?? undefined;
  if (metadataJson !== undefined && !(isText(metadataJson) && isObjectText(metadataJson))) return undefined;
  const stateJson = state ?? undefined;
  if (stateJson !== undefined && !(isText(stateJson) && isObjectText(stateJson))) return undefined;
  const lingers = lingersOf(why, untilMs, keyId, leftMs, hadOther);
  if (lingers === "invalid") return undefined;
  return {
    peerId,
    since,
    node: isNode(node) ? node : sender,
    metadataJson,
    ...(arriving === true && { isArriving: true }),
    ...(returning === true && { isReturning: true }),
    ...(stateJson !== undefined && { stateJson }),
    ...(lingers ? { lingers } : isName(keyId) && { keyId }),
  };
}

function lingersOf(
  why: unknown,
  untilMs: unknown,
  keyId: unknown,
  leftMs: unknown,
  hadOther: unknown,
): Lingers | undefined | "invalid" {
  if (why === undefined || why === null) return undefined;
  if ((why !== "lost" && why !== "held") || !isNumber(untilMs) || !isName(keyId)) return "invalid";
  return { why, untilMs, keyId, ...(isNumber(leftMs) && { leftMs }), ...(hadOther === true && { hadOther }) };
}

/** undefined when one entry is invalid. */
export function listOf<T>(value: unknown, one: (entry: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = value.map(one).filter((entry) => entry !== undefined);
  return found.length === value.length ? found : undefined;
}

export function partOf(part: unknown, parts: unknown): { readonly part: number; readonly parts: number } | undefined {
  return isCount(part) && isCount(parts) && part < parts && parts <= PARTS_MAX ? { part, parts } : undefined;
}
