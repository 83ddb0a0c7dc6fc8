/** The filters of a tail as operators write them, checked and compiled. The same form goes to the other nodes. */
import { type AppId, asAppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { isObject } from "../../protocol/json.ts";
import { PEER_ID_MAX_CHARS } from "../../protocol/limits.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import { kindSet, TAIL_KINDS, type TailKind } from "../../telemetry/tail/event.ts";
import type { TailFilter } from "../../telemetry/tail/reader.ts";

export interface TailQuery {
  /** An application's id. */
  readonly app?: AppId | undefined;
  /** A channel pattern: `chat/*`. */
  readonly channel?: string | undefined;
  /** A peer id, or the beginning of one and `*`. */
  readonly peer?: string | undefined;
  readonly key?: string | undefined;
  readonly kinds?: readonly TailKind[] | undefined;
  /** The reader may see payloads. */
  readonly payloads: boolean;
}

/** Letters, digits, `_` and `-`: a pasted credential has a colon, and is refused. */
const ID = /^[\w-]{1,128}$/;
const PEER = new RegExp(`^[\\x20-\\x7e]{1,${PEER_ID_MAX_CHARS}}\\*?$`);

/** Throws a Problem that names the field. */
export function tailFilter({ app, channel, peer, key, kinds = TAIL_KINDS, payloads }: TailQuery): TailFilter {
  return {
    kinds: kindSet(kinds),
    app: idOf("app", app),
    keyId: idOf("key", key),
    peer: peer === undefined ? undefined : peerFilter(peer),
    channel: channel === undefined ? undefined : channelFilter(channel),
    showsData: payloads,
  };
}

function idOf<Id extends string>(field: string, id: Id | undefined): Id | undefined {
  if (id !== undefined && !ID.test(id))
    throw invalid(`${field}: must be an id of letters, digits, "_" and "-"; never send a secret here.`);
  return id;
}

function peerFilter(peer: string): (peerId: string) => boolean {
  if (!PEER.test(peer))
    throw invalid(
      `peer: must be a peer id of 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters, or its beginning and "*".`,
    );
  if (!peer.endsWith("*")) return (peerId) => peerId === peer;
  const beginning = peer.slice(0, -1);
  return (peerId) => peerId.startsWith(beginning);
}

function channelFilter(pattern: string): (name: string) => boolean {
  const glob = parseGlob(pattern);
  if (typeof glob === "string") throw invalid(`channel: ${glob}.`);
  const scope = new Scope([glob]);
  return (name) => scope.matches(name);
}

const invalid = (message: string): Problem => new Problem("invalid_request", message);

const isKind = (value: unknown): value is TailKind => TAIL_KINDS.some((kind) => kind === value);

/** Filters that another node has sent. Throws if they are not of this form; `tailFilter` checks the texts. */
export function decodeTailQuery(value: unknown): TailQuery {
  if (!isObject(value)) throw new Error("a filter that is no object");
  const { app, channel, peer, key, kinds, payloads } = value;
  const texts = { app: appOf(app), channel: textOf(channel), peer: textOf(peer), key: textOf(key) };
  if (kinds !== undefined && !(Array.isArray(kinds) && kinds.length <= TAIL_KINDS.length))
    throw new Error("a filter with malformed kinds");
  // A newer node may know more kinds.
  return { ...texts, kinds: kinds?.filter(isKind), payloads: payloads === true };
}

const appOf = (value: unknown): AppId | undefined => {
  const text = textOf(value);
  return text === undefined ? undefined : asAppId(text);
};

function textOf(value: unknown): string | undefined {
  if (value !== undefined && typeof value !== "string") throw new Error("a filter with a field that is no text");
  return value;
}
