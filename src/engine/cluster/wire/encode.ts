/**
 * Writes messages between nodes: one line of JSON, then, for messages of clients, their metadata and data unchanged.
 *
 * The format MUST stay the same within a version: during a rolling restart nodes of the previous release run beside new ones. That is
 * why some names on the wire differ from those in messages.ts. format.test.ts has an example of each message.
 */
import type { Envelope, MemberState } from "../../engine.ts";
import {
  type ConnectionCount,
  type DeliveryCount,
  type DirectMessage,
  type Heartbeat,
  type ListNumber,
  type MembersChange,
  type NodeRequest,
  type NodeResponse,
  type PeerReturned,
  type ResponsePart,
  type SequencePlace,
  VERSION,
} from "./messages.ts";
import { chunksOf, ITEM_MAX_BYTES } from "./payload.ts";

/** Field of the response to `sequences` that holds the sequences. */
export const SEQUENCES_FIELD = "lanes";

const line = (kind: string, ...fields: readonly unknown[]): string => JSON.stringify([VERSION, kind, ...fields]);

const withBody = (head: string, { metadataJson, dataJson }: Envelope): string =>
  `${head}\n${metadataJson ?? ""}${dataJson}`;

/** Where the metadata ends and the data begins; -1: there is no metadata. */
const metadataChars = ({ metadataJson }: Envelope): number => metadataJson?.length ?? -1;

// Items of sequences

export const message = ({ node, app, channel, epoch, n }: SequencePlace, envelope: Envelope): string =>
  withBody(
    line("message", node, app, channel, epoch, n, envelope.from, metadataChars(envelope), ...storedFields(envelope)),
    envelope,
  );

export const members = ({ node, app, channel, epoch, n }: SequencePlace, { joined, left }: MembersChange): string =>
  line(
    "members",
    node,
    app,
    channel,
    epoch,
    n,
    joined.map((state) => memberFields(state, node)),
    left,
  );

export const tail = ({ node, app, channel, epoch, n }: SequencePlace): string =>
  line("tail", node, app, channel, epoch, n);

/** Estimated characters per member, besides its texts. */
const MEMBER_CHARS = 200;
/** A change of at most this many estimated characters fits into one item however its texts are escaped: it is not measured. */
const SURELY_FITS_CHARS = ITEM_MAX_BYTES / 8;

/** Splits a change into several items of the sequence: each can be decoded by itself and has its own sequence number. */
export function splitChange(change: MembersChange): MembersChange[] {
  const { joined, left } = change;
  let chars = (joined.length + left.length) * MEMBER_CHARS;
  for (const { metadataJson, stateJson } of joined) chars += (metadataJson?.length ?? 0) + (stateJson?.length ?? 0);
  if (chars <= SURELY_FITS_CHARS) return [change];
  return chunksOf([...joined, ...left]).map((some) => ({
    joined: some.filter((one) => typeof one !== "string"),
    left: some.filter((one) => typeof one === "string"),
  }));
}

/** The id, then where the message is in the stream of its channel: absent for a message with neither. */
function storedFields({ id, stored }: Envelope): unknown[] {
  if (!stored) return id === undefined ? [] : [id];
  const { epoch, offset, check, time, connection } = stored;
  return [id ?? null, epoch, offset, check, time, connection ?? null];
}

/** The node is named only if it is another one than `sender`, which has inherited the member. */
export function memberFields(state: MemberState, sender: string): unknown[] {
  const { peerId, since, node, metadataJson, isArriving, isReturning, stateJson, keyId, lingers } = state;
  const isInherited = node !== sender;
  const hasLeft = lingers?.leftMs !== undefined;
  const hadOther = lingers?.hadOther === true;
  if (stateJson !== undefined || lingers || keyId !== undefined || isReturning || isInherited)
    return [
      peerId,
      since,
      metadataJson ?? null,
      isArriving ?? null,
      stateJson ?? null,
      ...(lingers ? [lingers.why, lingers.untilMs, lingers.keyId] : []),
      ...(!lingers && (keyId !== undefined || isReturning || isInherited) ? [null, null, keyId ?? null] : []),
      // Nodes of earlier versions do not read as far as `leftMs`.
      ...(isReturning || hasLeft || isInherited || hadOther ? [isReturning ?? null] : []),
      ...(hasLeft || isInherited || hadOther ? [lingers?.leftMs ?? null] : []),
      ...(isInherited || hadOther ? [isInherited ? node : null] : []),
      ...(hadOther ? [true] : []),
    ];
  if (isArriving) return [peerId, since, metadataJson ?? null, isArriving];
  return metadataJson === undefined ? [peerId, since] : [peerId, since, metadataJson];
}

// Direct messages

function directFields({
  envelope: { id, awaitsRoster, idScope, sentEarlier },
  isNext,
  oldest,
}: DirectMessage): unknown[] {
  const inOrder = oldest === undefined ? isNext : false;
  if (sentEarlier) return [id ?? null, awaitsRoster ?? null, idScope ?? null, inOrder ?? null, oldest ?? null, true];
  if (oldest !== undefined) return [id ?? null, awaitsRoster ?? null, idScope ?? null, false, oldest];
  if (isNext || (isNext === false && awaitsRoster)) return [id ?? null, awaitsRoster ?? null, idScope ?? null, isNext];
  if (idScope !== undefined) return [id, awaitsRoster ?? null, idScope];
  if (awaitsRoster) return [id ?? null, true];
  return id === undefined ? [] : [id];
}

export function directMessage(message: DirectMessage): string {
  const { node, number, app, to, envelope } = message;
  const fields = directFields(message);
  return withBody(line("direct", node, number, app, to, envelope.from, metadataChars(envelope), ...fields), envelope);
}

export function deliveryCount({ node, count, isDeferred, isLate }: DeliveryCount): string {
  if (isLate) return line("handed", node, count, isDeferred === true, true);
  return isDeferred ? line("handed", node, count, true) : line("handed", node, count);
}

export const peerReturned = ({ node, app, peerId }: PeerReturned): string => line("back", node, app, peerId);

// Messages to all nodes

export const heartbeat = (one: Omit<Heartbeat, "kind">): string =>
  line(
    "beat",
    one.node,
    [...one.connections],
    one.receivesFrom,
    one.isReconnected,
    one.part,
    one.parts,
    ...(one.clockMs === undefined ? [] : [one.clockMs]),
    ...(one.about === undefined && one.list === undefined ? [] : [one.about ?? null]),
    ...(one.list === undefined ? [] : [listFields(one.list)]),
  );

const listFields = ({ number, added, removed }: ListNumber): unknown[] =>
  added && removed ? [number, added, removed] : [number];

export const farewell = (node: string): string => line("farewell", node);

export const connectionCount = ({ node, app, connections }: Omit<ConnectionCount, "kind">): string =>
  line("count", node, app, connections);

// Requests and responses

/** The text follows unchanged: inside the line it would be escaped, and could become twice as long. */
export const notification = (node: string, text: string): string => `${line("notice", node)}\n${text}`;

export const request = (node: string, one: NodeRequest): string => line("question", node, requestFields(one));

export const responsePart = ({ node, part, parts, response }: ResponsePart): string =>
  line("answer", node, part, parts, responseFields(response, node));

function requestFields(one: NodeRequest): object {
  switch (one.kind) {
    case "sequences":
      return { what: "who", channels: one.channels };
    case "replay":
      return { what: "again", place: one.from, to: one.to };
    case "capacity":
      return { what: "room", app: one.app, n: one.number };
    case "invalidate":
      return { what: "look", app: one.app, ended: one.withdrawn };
    case "channels":
      return { what: one.kind, app: one.app, page: one.page && { ...one.page, scope: one.page.scope.patterns } };
    case "deliver":
      return { what: "hand", text: one.text, nodes: one.nodes };
    default:
      return withSameName(one);
  }
}

function responseFields(one: NodeResponse, sender: string): object {
  switch (one.kind) {
    case "sequences":
      return {
        what: "who",
        [SEQUENCES_FIELD]: one.sequences.map((sequence) => ({ ...sequence, members: membersOf(sequence, sender) })),
      };
    case "members":
      return { what: one.kind, members: membersOf(one, sender) };
    case "replay":
      return { what: "again", items: one.items ?? null };
    case "capacity":
      return { what: "room", taken: one.taken };
    case "invalidate":
      return { what: "look", connections: one.connections };
    case "deliver":
      return { what: "hand", count: one.count, isLate: one.isLate, isHeld: one.isDeferred };
    default:
      return withSameName(one);
  }
}

/** As in items of sequences, the sender's own members do not name their node. */
const membersOf = ({ members }: { readonly members: readonly MemberState[] }, sender: string): object[] =>
  members.map((state) => (state.node === sender ? { ...state, node: undefined } : state));

const withSameName = ({ kind, ...fields }: { readonly kind: string }): object => ({ what: kind, ...fields });
