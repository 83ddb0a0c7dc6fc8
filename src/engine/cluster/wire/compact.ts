/**
 * What workers of one machine say to each other most often: fields with a separator, instead of a line of JSON. Only processes of the
 * same build, started by the same supervisor, can write there (`isPrivate` of the transport). So nothing is checked again that the
 * sending worker has checked, and the format may change with each build.
 *
 * A text begins with its kind. No field contains the separator: ids of applications and keys, peer ids, ids of messages and names of nodes
 * are printable ASCII, and names of channels have no control characters. Behind the last separator come the metadata and the data of a message,
 * unchanged, or a list as JSON. All other texts begin with "[" (encode.ts).
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { Envelope, MemberState, Stored } from "../../engine.ts";
import { type Fields, trustedMemberOf } from "./decode-entries.ts";
import { memberFields } from "./encode.ts";
import type {
  DeliveryCount,
  DirectMessage,
  MembersChange,
  RequestMessage,
  ResponsePart,
  SequenceItem,
  SequencePlace,
  SequenceState,
} from "./messages.ts";

const KIND = {
  message: "M",
  members: "C",
  direct: "D",
  receipt: "R",
  question: "Q",
  state: "S",
  long: "L",
  joined: "J",
} as const;
const MESSAGE = KIND.message.charCodeAt(0);
const MEMBERS = KIND.members.charCodeAt(0);
const DIRECT = KIND.direct.charCodeAt(0);
const RECEIPT = KIND.receipt.charCodeAt(0);
const QUESTION = KIND.question.charCodeAt(0);
const STATE = KIND.state.charCodeAt(0);
const LONG = KIND.long.charCodeAt(0);
const JOINED = KIND.joined.charCodeAt(0);
const SEPARATOR = "\n";
/** In place of the characters of the metadata: there is none. */
const NO_METADATA = -1;
const NONE: readonly string[] = Object.freeze([]);
const STORED_SEPARATOR = "\t";

/** Bits of the field `flags`. */
const AWAITS_ROSTER = 1;
const SENT_EARLIER = 2;
const IS_NEXT = 4;
const IS_NOT_NEXT = 8;
const IS_DEFERRED = 1;
const IS_LATE = 2;
const IS_ARRIVING = 1;
const IS_RETURNING = 2;

const NODES_MAX = 1024;
/** A piece of a text keeps the whole text alive, and names of nodes outlive it as keys of maps. Bound: NODES_MAX, then all are forgotten. */
const nodes = new Map<string, string>();

function nodeOf(piece: string): string {
  const known = nodes.get(piece);
  if (known !== undefined) return known;
  if (nodes.size >= NODES_MAX) nodes.clear();
  const name = Buffer.from(piece, "latin1").toString("latin1");
  nodes.set(name, name);
  return name;
}

/** Reads the fields of a text one after another. One object serves all texts: they are read to their end at once. */
class Fieldwise {
  private text = "";
  private at = 0;

  begin(text: string): void {
    this.text = text;
    this.at = 1;
  }

  next(): string {
    const end = this.text.indexOf(SEPARATOR, this.at);
    const field = this.text.slice(this.at, end);
    this.at = end + 1;
    return field;
  }

  number(): number {
    return Number(this.next());
  }

  count(): number | undefined {
    const field = this.next();
    return field === "" ? undefined : Number(field);
  }

  optional(): string | undefined {
    const field = this.next();
    return field === "" ? undefined : field;
  }

  /** What is behind the last separator. The text is not kept. */
  rest(from = 0): string {
    const rest = this.text.slice(this.at + from);
    this.text = "";
    return rest;
  }

  piece(chars: number): string {
    return this.text.slice(this.at, this.at + chars);
  }
}

const fields = new Fieldwise();

// Items of sequences. The subject that they arrive on decides the channel.

export function message({ node, epoch, n }: SequencePlace, envelope: Envelope): string {
  const { from, metadataJson, dataJson, id = "", stored } = envelope;
  const chars = metadataJson === undefined ? NO_METADATA : metadataJson.length;
  const place = stored === undefined ? "" : storedText(stored);
  return `M${node}\n${epoch}\n${n}\n${from}\n${chars}\n${id}\n${place}\n${metadataJson ?? ""}${dataJson}`;
}

export function members({ node, epoch, n }: SequencePlace, { joined, left }: MembersChange): string {
  const [only] = joined;
  if (only && joined.length === 1 && left.length === 0 && !only.lingers && only.node === node)
    return `J${node}\n${epoch}\n${n}\n${memberText(only)}`;
  const list = JSON.stringify([joined.map((state) => memberFields(state, node)), left]);
  return `C${node}\n${epoch}\n${n}\n${list}`;
}

/** undefined: it is of another kind, and not compact. */
export function sequenceItem(text: string, app: SpaceId, channel: string): SequenceItem | undefined {
  const kind = text.charCodeAt(0);
  if (kind !== MESSAGE && kind !== MEMBERS && kind !== JOINED) return undefined;
  fields.begin(text);
  const place = { node: nodeOf(fields.next()), app, channel, epoch: fields.number(), n: fields.number() };
  if (kind === MESSAGE) return { kind: "message", place, envelope: messageEnvelope() };
  if (kind === JOINED) return { kind: "members", place, change: { joined: [memberIn(place.node)], left: NONE } };
  const [joined, left] = JSON.parse(fields.rest()) as [joined: Fields[], left: string[]];
  const states = joined.map((one): MemberState => trustedMemberOf(one, place.node));
  return { kind: "members", place, change: { joined: states, left } };
}

/** One member that has connections of its own there: almost all changes are of this kind. */
function memberText(state: MemberState): string {
  const { peerId, since, metadataJson, isArriving, isReturning, stateJson, keyId = "" } = state;
  const flags = (isArriving ? IS_ARRIVING : 0) + (isReturning ? IS_RETURNING : 0);
  const chars = metadataJson === undefined ? NO_METADATA : metadataJson.length;
  return `${peerId}\n${since}\n${flags}\n${keyId}\n${chars}\n${metadataJson ?? ""}${stateJson ?? ""}`;
}

function memberIn(node: string): MemberState {
  const [peerId, since, flags, keyId, chars] = [
    fields.next(),
    fields.number(),
    fields.number(),
    fields.optional(),
    fields.number(),
  ];
  const metadataJson = chars === NO_METADATA ? undefined : fields.piece(chars);
  const stateJson = fields.rest(chars === NO_METADATA ? 0 : chars);
  const plain: MemberState = { peerId, since, node, metadataJson };
  if (flags === 0 && keyId === undefined && stateJson === "") return plain;
  return {
    ...plain,
    ...(flags & IS_ARRIVING && { isArriving: true as const }),
    ...(flags & IS_RETURNING && { isReturning: true as const }),
    ...(stateJson !== "" && { stateJson }),
    ...(keyId !== undefined && { keyId }),
  };
}

function messageEnvelope(): Envelope {
  const from = fields.next();
  const chars = fields.number();
  const id = fields.optional();
  const place = fields.next();
  const stored = place === "" ? undefined : storedOf(place);
  if (chars === NO_METADATA) return { from, metadataJson: undefined, dataJson: fields.rest(), id, stored };
  return { from, metadataJson: fields.piece(chars), dataJson: fields.rest(chars), id, stored };
}

const storedText = ({ epoch, offset, check, time, connection }: Stored): string =>
  [epoch, offset, check, time, connection ?? ""].join(STORED_SEPARATOR);

function storedOf(text: string): Stored {
  const [epoch = "", offset, check = "", time, connection] = text.split(STORED_SEPARATOR);
  return { epoch, offset: Number(offset), check, time: Number(time), connection: connection || undefined };
}

// Direct messages

export function directMessage({ node, number, app, to, envelope, isNext, oldest }: DirectMessage): string {
  const { from, metadataJson, dataJson, id = "", idScope = "", awaitsRoster, sentEarlier } = envelope;
  const chars = metadataJson === undefined ? NO_METADATA : metadataJson.length;
  const order = isNext === undefined ? 0 : isNext ? IS_NEXT : IS_NOT_NEXT;
  const flags = (awaitsRoster ? AWAITS_ROSTER : 0) + (sentEarlier ? SENT_EARLIER : 0) + order;
  const head = `D${node}\n${number}\n${app}\n${to}\n${flags}\n${oldest ?? ""}\n${from}\n${chars}\n${id}\n${idScope}\n`;
  return `${head}${metadataJson ?? ""}${dataJson}`;
}

/** undefined: it is of another kind, and not compact. */
export function directMessageOf(text: string): DirectMessage | undefined {
  if (text.charCodeAt(0) !== DIRECT) return undefined;
  fields.begin(text);
  const node = nodeOf(fields.next());
  const number = fields.number();
  const app = fields.next() as SpaceId;
  const to = fields.next();
  const flags = fields.number();
  const oldest = fields.count();
  const from = fields.next();
  const chars = fields.number();
  const id = fields.optional();
  const idScope = fields.optional();
  const metadataJson = chars === NO_METADATA ? undefined : fields.piece(chars);
  const dataJson = fields.rest(chars === NO_METADATA ? 0 : chars);
  const plain: Envelope = { from, metadataJson, dataJson, id, idScope };
  const isNext = flags & IS_NEXT ? true : flags & IS_NOT_NEXT ? false : undefined;
  // Almost no message has them.
  const envelope: Envelope =
    flags & (AWAITS_ROSTER | SENT_EARLIER)
      ? {
          ...plain,
          ...(flags & AWAITS_ROSTER && { awaitsRoster: true }),
          ...(flags & SENT_EARLIER && { sentEarlier: true }),
        }
      : plain;
  return { node, number, app, to, envelope, isNext, oldest };
}

export function deliveryCount({ node, count, isDeferred, isLate }: DeliveryCount): string {
  const flags = (isDeferred ? IS_DEFERRED : 0) + (isLate ? IS_LATE : 0);
  return `R${node}\n${count}\n${flags}\n`;
}

/** undefined: it is of another kind, and not compact. */
export function deliveryCountOf(text: string): DeliveryCount | undefined {
  if (text.charCodeAt(0) !== RECEIPT) return undefined;
  fields.begin(text);
  const [node, count, flags] = [nodeOf(fields.next()), fields.number(), fields.number()];
  if (flags === 0) return { node, count };
  return { node, count, isDeferred: (flags & IS_DEFERRED) !== 0, isLate: (flags & IS_LATE) !== 0 };
}

// With the first subscriber of a channel, each other worker reports the state of its sequence, or is asked for it.

export const sequenceQuestion = (node: string, app: SpaceId, channel: string): string =>
  `Q${node}\n${app}\n${channel}\n`;

/** undefined: it is of another kind, and not compact. */
export function sequenceQuestionOf(text: string): RequestMessage | undefined {
  if (text.charCodeAt(0) !== QUESTION) return undefined;
  fields.begin(text);
  const [node, app, channel] = [nodeOf(fields.next()), fields.next() as SpaceId, fields.next()];
  return { kind: "request", node, request: { kind: "sequences", channels: [[app, channel]] } };
}

export function sequenceState(node: string, state: SequenceState): string {
  const { app, channel, epoch, n, idleMs = "", earlierIdleMs = "", clockMs = "", members: known } = state;
  const list = known.length === 0 ? "" : JSON.stringify(known.map((one) => memberFields(one, node)));
  return `S${node}\n${app}\n${channel}\n${epoch}\n${n}\n${idleMs}\n${earlierIdleMs}\n${clockMs}\n${list}`;
}

/** undefined: it is of another kind, and not compact. */
export function sequenceStateOf(text: string): ResponsePart | undefined {
  if (text.charCodeAt(0) !== STATE) return undefined;
  fields.begin(text);
  const node = nodeOf(fields.next());
  const [app, channel, epoch, n] = [fields.next() as SpaceId, fields.next(), fields.number(), fields.number()];
  const [idleMs, earlierIdleMs, clockMs] = [fields.count(), fields.count(), fields.count()];
  const list = fields.rest();
  const known = list === "" ? [] : (JSON.parse(list) as Fields[]).map((one) => trustedMemberOf(one, node));
  const state: SequenceState = { app, channel, epoch, n, members: known, idleMs, earlierIdleMs, clockMs };
  return { node, part: 0, parts: 1, response: { kind: "sequences", sequences: [state] } };
}

export const longState = (node: string): string => `L${node}\n`;

/** The node; undefined: the text is of another kind. */
export function longStateOf(text: string): string | undefined {
  if (text.charCodeAt(0) !== LONG) return undefined;
  fields.begin(text);
  return nodeOf(fields.next());
}
