/**
 * What arrives from other nodes has passed through a server that others may reach: it is untrusted. Everything is looked at,
 * and what is not as it should be is undefined.
 */
import { parseStrict } from "../../protocol/json.ts";
import { CHANNEL_MAX_BYTES } from "../../protocol/limits.ts";
import { isPeerId } from "../../protocol/names.ts";
import type { ChannelCount, Envelope, MemberState } from "../engine.ts";
import {
  type Answer,
  type Answered,
  type Asked,
  type Beat,
  type Count,
  type Direct,
  type Farewell,
  type LaneItem,
  type LaneState,
  type Place,
  type Question,
  VERSION,
} from "./encode.ts";
import { PARTS_MAX, TEXT_MAX_BYTES } from "./payload.ts";

type Fields = readonly unknown[];

interface Read {
  readonly kind: string;
  readonly fields: Fields;
  /** Behind the line. */
  readonly words: string;
}

function read(text: string): Read | undefined {
  // A text has at least as many bytes as characters: what any node may send passes.
  if (text.length > TEXT_MAX_BYTES) return undefined;
  const end = text.indexOf("\n");
  const parsed = json(end < 0 ? text : text.slice(0, end));
  if (!Array.isArray(parsed) || parsed[0] !== VERSION || !isText(parsed[1])) return undefined;
  return { kind: parsed[1], fields: parsed.slice(2), words: end < 0 ? "" : text.slice(end + 1) };
}

/** Longer heads are checked for their nesting before they are parsed. */
const DEPTH_UNCHECKED_CHARS = 4096;
/** No node nests deeper than six. */
const DEPTH_MAX = 16;

function json(text: string): unknown {
  // The runtime takes 80 ms to parse a MiB of brackets.
  if (text.length > DEPTH_UNCHECKED_CHARS && isDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in this bit alone. */
const CURLY = 0x20;

function isDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if ((code | CURLY) === 0x7b && ++depth > DEPTH_MAX) return true;
    else if ((code | CURLY) === 0x7d) depth--;
  }
  return false;
}

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
/** A node calls itself by a UUID. The name becomes part of a subject, and the server drops a connection that sends a long one. */
const NODE_NAME = /^[\w~-]{1,64}$/;
const isNode = (value: unknown): value is string => isText(value) && NODE_NAME.test(value);
/** An application's id has 24 characters; a channel name has at least as many bytes as characters. */
export const APP_MAX_CHARS = 128;
const isApp = (value: unknown): value is string => isText(value) && value.length <= APP_MAX_CHARS;
const isChannel = (value: unknown): value is string => isText(value) && value.length <= CHANNEL_MAX_BYTES;
/** Channels of one question: more than fit into the questions that nodes send, which are split at ITEM_MAX_BYTES. */
export const ASKED_CHANNELS_MAX = 4096;
const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function partOf(part: unknown, parts: unknown): { readonly part: number; readonly parts: number } | undefined {
  return isCount(part) && isCount(parts) && part < parts && parts <= PARTS_MAX ? { part, parts } : undefined;
}

function placeOf([node, app, channel, epoch, n]: Fields): Place | undefined {
  if (!isNode(node) || !isApp(app) || !isChannel(channel) || !isCount(epoch) || !isCount(n)) return undefined;
  return { node, app, channel, epoch, n };
}

/** Its texts go into frames as they are: they must be JSON, each by itself. */
function envelopeOf(from: unknown, chars: unknown, words: string): Envelope | undefined {
  if (!isPeerId(from) || !isNumber(chars)) return undefined;
  const metadataJson = chars < 0 ? undefined : words.slice(0, chars);
  const dataJson = chars < 0 ? words : words.slice(chars);
  if (json(dataJson) === undefined || (metadataJson !== undefined && !isObjectText(metadataJson))) return undefined;
  return { from, metadataJson, dataJson };
}

function isObjectText(text: string): boolean {
  const parsed = parseStrict(text);
  return parsed.ok && typeof parsed.value === "object" && parsed.value !== null && !Array.isArray(parsed.value);
}

function stateIn(value: unknown): MemberState | undefined {
  if (!Array.isArray(value)) return undefined;
  const [peerId, since, metadata, arriving] = value as Fields;
  if (!isPeerId(peerId) || !isNumber(since)) return undefined;
  const metadataJson = metadata ?? undefined;
  if (metadataJson !== undefined && !(isText(metadataJson) && isObjectText(metadataJson))) return undefined;
  return { peerId, since, metadataJson, ...(arriving === true && { isArriving: true }) };
}

/** All of a list, or nothing of it. */
function listOf<T>(value: unknown, one: (entry: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = value.map(one).filter((entry) => entry !== undefined);
  return found.length === value.length ? found : undefined;
}

const text = (value: unknown): string | undefined => (isText(value) ? value : undefined);

export function laneItem(payload: string): LaneItem | undefined {
  const all = read(payload);
  const place = all && placeOf(all.fields);
  if (!place) return undefined;
  const [first, second] = all.fields.slice(5);
  switch (all.kind) {
    case "message": {
      const envelope = envelopeOf(first, second, all.words);
      return envelope && { kind: "message", place, envelope };
    }
    case "members": {
      const [joined, left] = [listOf(first, stateIn), listOf(second, (one) => (isPeerId(one) ? one : undefined))];
      return joined && left && { kind: "members", place, change: { joined, left } };
    }
    case "tail":
      return { kind: "tail", place };
    default:
      return undefined;
  }
}

export function toAll(payload: string): Beat | Count | Farewell | Asked | undefined {
  const all = read(payload);
  const [node, first, hears, isBack, part = 0, parts = 1] = all?.fields ?? [];
  if (!all || !isNode(node)) return undefined;
  switch (all.kind) {
    case "beat": {
      const counts = listOf(first, (one) =>
        Array.isArray(one) && isApp(one[0]) && isCount(one[1]) ? ([one[0], one[1]] as const) : undefined,
      );
      const nodes = listOf(hears, (one) => (isNode(one) ? one : undefined));
      const at = partOf(part, parts);
      if (!counts || !nodes || !at) return undefined;
      return { kind: "beat", node, connections: new Map(counts), hears: nodes, isBack: isBack === true, ...at };
    }
    case "count":
      return isApp(first) && isCount(hears) ? { kind: "count", node, app: first, connections: hears } : undefined;
    case "farewell":
      return { kind: all.kind, node };
    case "question": {
      const asked = questionIn(first);
      return asked && { kind: "question", node, question: asked };
    }
    default:
      return undefined;
  }
}

type Plain = Readonly<Record<string, unknown>>;
const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function questionIn(value: unknown): Question | undefined {
  if (!isPlain(value)) return undefined;
  const { what, app, channel, peerId, channels, place, to, n, untilMs, text: direct } = value;
  switch (what) {
    case "who": {
      if (!Array.isArray(channels) || channels.length > ASKED_CHANNELS_MAX) return undefined;
      const found = listOf(channels, (one) =>
        Array.isArray(one) && isApp(one[0]) && isChannel(one[1]) ? ([one[0], one[1]] as const) : undefined,
      );
      return found && { what, channels: found };
    }
    case "again": {
      const from = isPlain(place) ? placeOf([place.node, place.app, place.channel, place.epoch, place.n]) : undefined;
      return from && isCount(to) ? { what, place: from, to } : undefined;
    }
    case "channels":
      return isApp(app) ? { what, app } : undefined;
    case "members":
      return isApp(app) && isChannel(channel) ? { what, app, channel } : undefined;
    case "kick":
      return isApp(app) && isPeerId(peerId) ? { what, app, peerId } : undefined;
    case "block":
      return isApp(app) && isPeerId(peerId) && isNumber(untilMs) ? { what, app, peerId, untilMs } : undefined;
    case "room":
      return isApp(app) && isCount(n) ? { what, app, n } : undefined;
    case "look":
      return app === undefined || isApp(app) ? { what, app } : undefined;
    case "hand":
      return isText(direct) ? { what, text: direct } : undefined;
    default:
      return undefined;
  }
}

export function answerIn(payload: string): Answered | undefined {
  const all = read(payload);
  const [node, part, parts, value] = all?.fields ?? [];
  if (all?.kind !== "answer" || !isNode(node) || !isPlain(value)) return undefined;
  const answer = answerOf(value);
  const at = partOf(part, parts);
  return answer && at && { node, ...at, answer };
}

function answerOf(value: Plain): Answer | undefined {
  switch (value.what) {
    case "who": {
      const lanes = listOf(value.lanes, laneStateIn);
      return lanes && { what: "who", lanes };
    }
    case "again": {
      if (value.items === null) return { what: "again", items: undefined };
      const items = listOf(value.items, text);
      return items && { what: "again", items };
    }
    case "channels": {
      const counts = listOf(value.counts, countIn);
      return counts && { what: "channels", counts };
    }
    case "members": {
      const states = listOf(value.members, memberIn);
      return states && { what: "members", members: states };
    }
    case "kick":
      return isCount(value.closed) ? { what: "kick", closed: value.closed } : undefined;
    case "block":
      return { what: "block" };
    case "room":
      return isCount(value.taken) ? { what: "room", taken: value.taken } : undefined;
    case "look":
      return isCount(value.connections) ? { what: "look", connections: value.connections } : undefined;
    case "hand":
      return isCount(value.count) ? { what: "hand", count: value.count, isLate: value.isLate === true } : undefined;
    default:
      return undefined;
  }
}

/** In answers members are objects as they are. */
const memberIn = (value: unknown): MemberState | undefined =>
  isPlain(value) ? stateIn([value.peerId, value.since, value.metadataJson, value.isArriving]) : undefined;

function laneStateIn(value: unknown): LaneState | undefined {
  if (!isPlain(value)) return undefined;
  const { app, channel, epoch, n } = value;
  const states = listOf(value.members, memberIn);
  if (!isApp(app) || !isChannel(channel) || !isCount(epoch) || !isCount(n) || !states) return undefined;
  return { app, channel, epoch, n, members: states };
}

function countIn(value: unknown): ChannelCount | undefined {
  if (!isPlain(value) || !isChannel(value.channel) || !isCount(value.connections)) return undefined;
  const peerIds = listOf(value.peerIds, (one) => (isPeerId(one) ? one : undefined));
  return peerIds && { channel: value.channel, peerIds, connections: value.connections };
}

export function directIn(payload: string): Direct | undefined {
  const all = read(payload);
  const [node, number, app, to, from, chars] = all?.fields ?? [];
  if (all?.kind !== "direct" || !isNode(node) || !isCount(number) || !isApp(app) || !isPeerId(to)) return undefined;
  const envelope = envelopeOf(from, chars, all.words);
  return envelope && { node, number, app, to, envelope };
}

export function handedIn(payload: string): { readonly node: string; readonly count: number } | undefined {
  const all = read(payload);
  const [node, count] = all?.fields ?? [];
  return all?.kind === "handed" && isNode(node) && isCount(count) ? { node, count } : undefined;
}
