/**
 * Reads messages between nodes. They have passed through a server that others may reach, so they are untrusted: every field is
 * checked, and a message that no node sends is undefined. encode.ts describes the format.
 */
import type { SpaceId } from "../../../base/ids.ts";
import { CHANNEL_MAX_BYTES } from "../../../protocol/limits.ts";
import { isPeerId } from "../../../protocol/names.ts";
import { type ChannelCount, type Envelope, type MemberState, WITHDRAWN_MAX_CHARS } from "../../engine.ts";
import {
  envelopeOf,
  type Fields,
  isApp,
  isCount,
  isNode,
  isNumber,
  isText,
  listOf,
  memberOf,
  nodeOf,
  parseJson,
  partOf,
} from "./decode-entries.ts";
import { heartbeatOf } from "./decode-heartbeat.ts";
import { channelsPageOf } from "./decode-page.ts";
import { SEQUENCES_FIELD } from "./encode.ts";
import {
  type ConnectionCount,
  type DeliveryCount,
  type DirectMessage,
  type Farewell,
  type Heartbeat,
  type NodeRequest,
  type NodeResponse,
  type Notification,
  type PeerReturned,
  type RequestMessage,
  type ResponsePart,
  type SequenceItem,
  type SequencePlace,
  type SequenceState,
  VERSION,
} from "./messages.ts";
import { PIECE_CHARS, REQUEST_TEXT_MAX_CHARS, RESPONSE_TEXT_MAX_CHARS, TEXT_MAX_BYTES } from "./payload.ts";

interface Parsed {
  readonly kind: string;
  readonly fields: Fields;
  /** What follows the first line. */
  readonly body: string;
}

function parse(text: string): Parsed | undefined {
  // Characters instead of bytes: a text has at least as many bytes, so every text that a node may send passes.
  if (text.length > TEXT_MAX_BYTES) return undefined;
  const end = text.indexOf("\n");
  const head = parseJson(end < 0 ? text : text.slice(0, end));
  if (!Array.isArray(head) || head[0] !== VERSION || !isText(head[1])) return undefined;
  return { kind: head[1], fields: head.slice(2), body: end < 0 ? "" : text.slice(end + 1) };
}

/** Nodes send both ids in fields named `app`. A channel name has at least as many bytes as characters. */
const isSpace = isApp as unknown as (value: unknown) => value is SpaceId;
const isChannel = (value: unknown): value is string => isText(value) && value.length <= CHANNEL_MAX_BYTES;
/** Bound: channels per request. Requests of nodes are split at ITEM_MAX_BYTES, where fewer channels fit. */
export const REQUEST_CHANNELS_MAX = 4096;

/** A peer id, or the id of a key behind a word. */
const ID_SCOPE_MAX_CHARS = 256;
const isIdScope = (value: unknown): value is string => isText(value) && value.length <= ID_SCOPE_MAX_CHARS;

function placeOf([node, app, channel, epoch, n]: Fields): SequencePlace | undefined {
  if (!isNode(node) || !isSpace(app) || !isChannel(channel) || !isCount(epoch) || !isCount(n)) return undefined;
  return { node, app, channel, epoch, n };
}

const textOf = (value: unknown): string | undefined => (isText(value) ? value : undefined);
const peerIdOf = (value: unknown): string | undefined => (isPeerId(value) ? value : undefined);

export function sequenceItem(text: string): SequenceItem | undefined {
  const parsed = parse(text);
  const place = parsed && placeOf(parsed.fields);
  if (!place) return undefined;
  const [first, second, ...rest] = parsed.fields.slice(5);
  switch (parsed.kind) {
    case "message": {
      const envelope = envelopeOf(first, second, parsed.body, rest);
      return envelope && { kind: "message", place, envelope };
    }
    case "members": {
      const [joined, left] = [listOf(first, (one) => memberOf(one, place.node)), listOf(second, peerIdOf)];
      return joined && left && { kind: "members", place, change: { joined, left } };
    }
    case "tail":
      return { kind: "tail", place };
    default:
      return undefined;
  }
}

export type NodeMessage = Heartbeat | ConnectionCount | Farewell | RequestMessage | Notification;

/** A message to all nodes, or a request or notification to this one. */
export function nodeMessage(text: string): NodeMessage | undefined {
  const parsed = parse(text);
  const [node, ...fields] = parsed?.fields ?? [];
  if (!parsed || !isNode(node)) return undefined;
  switch (parsed.kind) {
    case "beat":
      return heartbeatOf(node, fields);
    case "count": {
      const [app, connections] = fields;
      return isApp(app) && isCount(connections) ? { kind: "count", node, app, connections } : undefined;
    }
    case "farewell":
      return { kind: "farewell", node };
    case "question": {
      const request = requestOf(fields[0]);
      return request && { kind: "request", node, request };
    }
    case "notice":
      return { kind: "notification", node, text: parsed.body };
    default:
      return undefined;
  }
}

type Plain = Readonly<Record<string, unknown>>;
const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function requestOf(value: unknown): NodeRequest | undefined {
  if (!isPlain(value)) return undefined;
  const { what, app, channel, peerId, channels, place, to, n, untilMs, text, nodes, ended } = value;
  switch (what) {
    case "who": {
      if (!Array.isArray(channels) || channels.length > REQUEST_CHANNELS_MAX) return undefined;
      const found = listOf(channels, (one) =>
        Array.isArray(one) && isSpace(one[0]) && isChannel(one[1]) ? ([one[0], one[1]] as const) : undefined,
      );
      return found && { kind: "sequences", channels: found };
    }
    case "again": {
      const from = isPlain(place) ? placeOf([place.node, place.app, place.channel, place.epoch, place.n]) : undefined;
      return from && isCount(to) ? { kind: "replay", from, to } : undefined;
    }
    case "channels": {
      if (!isSpace(app)) return undefined;
      if (value.page === undefined) return { kind: what, app };
      const page = isPlain(value.page) ? channelsPageOf(value.page) : undefined;
      return page && { kind: what, app, page };
    }
    case "members":
      return isSpace(app) && isChannel(channel) ? { kind: what, app, channel } : undefined;
    case "kick":
      return isSpace(app) && isPeerId(peerId) ? { kind: what, app, peerId } : undefined;
    case "block":
      return isApp(app) && isPeerId(peerId) && isNumber(untilMs) ? { kind: what, app, peerId, untilMs } : undefined;
    case "room":
      return isApp(app) && isCount(n) ? { kind: "capacity", app, number: n } : undefined;
    case "look":
      if (app !== undefined && !isApp(app)) return undefined;
      if (!isText(ended) || ended.length > WITHDRAWN_MAX_CHARS) return { kind: "invalidate", app };
      return { kind: "invalidate", app, withdrawn: ended };
    case "hand": {
      const asked = nodes === undefined ? undefined : (listOf(nodes, nodeOf) ?? []);
      return isText(text) ? { kind: "deliver", text, ...(asked && { nodes: asked }) } : undefined;
    }
    case "list":
      return { kind: what };
    case "text":
      return isText(text) && text.length <= REQUEST_TEXT_MAX_CHARS ? { kind: what, text } : undefined;
    default:
      return undefined;
  }
}

const TEXT_PIECES_MAX = RESPONSE_TEXT_MAX_CHARS / PIECE_CHARS;

export function responsePart(text: string): ResponsePart | undefined {
  const parsed = parse(text);
  const [node, part, parts, value] = parsed?.fields ?? [];
  if (parsed?.kind !== "answer" || !isNode(node) || !isPlain(value)) return undefined;
  const response = responseOf(value, node);
  const at = partOf(part, parts);
  if (response?.kind === "text" && Number(parts) > TEXT_PIECES_MAX) return undefined;
  return response && at && { node, ...at, response };
}

/** `node`: the one that responds. */
function responseOf(value: Plain, node: string): NodeResponse | undefined {
  switch (value.what) {
    case "who": {
      const sequences = listOf(value[SEQUENCES_FIELD], (one) => sequenceStateOf(one, node));
      return sequences && { kind: "sequences", sequences };
    }
    case "again": {
      if (value.items === null) return { kind: "replay", items: undefined };
      const items = listOf(value.items, textOf);
      return items && { kind: "replay", items };
    }
    case "channels": {
      const counts = listOf(value.counts, channelCountOf);
      return counts && { kind: "channels", counts, steps: isCount(value.steps) ? value.steps : 0 };
    }
    case "members": {
      const members = listOf(value.members, (one) => memberOfObject(one, node));
      return members && { kind: "members", members };
    }
    case "kick":
      return isCount(value.closed) ? { kind: "kick", closed: value.closed } : undefined;
    case "block":
      return { kind: "block" };
    case "room":
      return isCount(value.taken) ? { kind: "capacity", taken: value.taken } : undefined;
    case "look":
      return isCount(value.connections) ? { kind: "invalidate", connections: value.connections } : undefined;
    case "hand":
      return isCount(value.count)
        ? {
            kind: "deliver",
            count: value.count,
            isLate: value.isLate === true,
            ...(value.isHeld === true && { isDeferred: true }),
          }
        : undefined;
    case "text":
      return isText(value.text) && value.text.length <= PIECE_CHARS ? { kind: "text", text: value.text } : undefined;
    default:
      return undefined;
  }
}

/** In responses members are objects, in sequences they are arrays. */
const memberOfObject = (value: unknown, sender: string): MemberState | undefined =>
  isPlain(value) ? memberOf(memberFields(value), sender) : undefined;

function memberFields({
  peerId,
  since,
  metadataJson,
  isArriving,
  isReturning,
  stateJson,
  keyId,
  lingers,
  node,
}: Plain): Fields {
  const { why, untilMs, keyId: lastKeyId, leftMs, hadOther } = isPlain(lingers) ? lingers : {};
  return [
    peerId,
    since,
    metadataJson,
    isArriving,
    stateJson,
    why,
    untilMs,
    lastKeyId ?? keyId,
    isReturning,
    leftMs,
    node,
    hadOther,
  ];
}

function sequenceStateOf(value: unknown, sender: string): SequenceState | undefined {
  if (!isPlain(value)) return undefined;
  const { app, channel, epoch, n, idleMs, earlierIdleMs, clockMs } = value;
  const members = listOf(value.members, (one) => memberOfObject(one, sender));
  if (!isSpace(app) || !isChannel(channel) || !isCount(epoch) || !isCount(n) || !members) return undefined;
  const ages = isCount(idleMs) && isCount(earlierIdleMs) && isCount(clockMs) ? { idleMs, earlierIdleMs, clockMs } : {};
  return { app, channel, epoch, n, members, ...ages };
}

function channelCountOf(value: unknown): ChannelCount | undefined {
  if (!isPlain(value) || !isChannel(value.channel) || !isCount(value.connections)) return undefined;
  const peerIds = listOf(value.peerIds, peerIdOf);
  return peerIds && { channel: value.channel, peerIds, connections: value.connections };
}

export function directMessage(text: string): DirectMessage | undefined {
  const parsed = parse(text);
  const [node, number, app, to, from, metadataChars, id, awaitsRoster, idScope, isNext, oldest, earlier] =
    parsed?.fields ?? [];
  if (parsed?.kind !== "direct" || !isNode(node) || !isCount(number) || !isSpace(app) || !isPeerId(to))
    return undefined;
  const plain = envelopeOf(from, metadataChars, parsed.body, [id]);
  if (!plain) return undefined;
  // Almost no message has them.
  const envelope = awaitsRoster || idScope ? withDirectFields(plain, awaitsRoster, idScope, earlier) : plain;
  return {
    node,
    number,
    app,
    to,
    envelope,
    isNext: typeof isNext === "boolean" ? isNext : undefined,
    oldest: isCount(oldest) ? oldest : undefined,
  };
}

const withDirectFields = (
  envelope: Envelope,
  awaitsRoster: unknown,
  idScope: unknown,
  sentEarlier: unknown,
): Envelope => ({
  ...envelope,
  ...(awaitsRoster === true && { awaitsRoster }),
  ...(sentEarlier === true && { sentEarlier }),
  ...(envelope.id !== undefined && isIdScope(idScope) && { idScope }),
});

export function peerReturned(text: string): PeerReturned | undefined {
  const parsed = parse(text);
  const [node, app, peerId] = parsed?.fields ?? [];
  if (parsed?.kind !== "back" || !isNode(node) || !isSpace(app) || !isPeerId(peerId)) return undefined;
  return { node, app, peerId };
}

export function deliveryCount(text: string): DeliveryCount | undefined {
  const parsed = parse(text);
  const [node, count, held, late] = parsed?.fields ?? [];
  if (parsed?.kind !== "handed" || !isNode(node) || !isCount(count)) return undefined;
  return { node, count, ...(held === true && { isDeferred: true }), ...(late === true && { isLate: true }) };
}
