/** Encodes server frames. Arguments named `…Json` are JSON texts already and are inserted unchanged. */
import { CODES, type Code, wireCode } from "./codes.ts";
import { MESSAGE_MAX_BYTES } from "./limits.ts";
import { type Position, positionText } from "./position.ts";

/** Additions to the protocol that this service has, so that clients need not guess from its version. */
const FEATURES = JSON.stringify(["history", "state", "renew", "send-id", "events"]);

const PONG = '{"type":"pong"}';

export const pong = (requestId: string | undefined): string =>
  requestId === undefined ? PONG : `{"type":"pong","requestId":${JSON.stringify(requestId)}}`;

/** `fields`: more members of the frame, each with a comma before it. */
export const ack = (requestId: string, fields = ""): string =>
  `{"type":"ack","requestId":${JSON.stringify(requestId)}${fields}}`;

export function error(code: Code, requestId?: string, message: string = CODES[code].text): string {
  const id = requestId === undefined ? "" : `"requestId":${JSON.stringify(requestId)},`;
  return `{"type":"error",${id}"code":"${wireCode(code)}","message":${JSON.stringify(message)}}`;
}

/** The service itself has ended a subscription: without a request, only the channel says which. */
export function channelError(code: Code, channelJson: string, message: string): string {
  return `{"type":"error","channel":${channelJson},"code":"${wireCode(code)}","message":${JSON.stringify(message)}}`;
}

export function welcome(
  peerId: string,
  expiresAt: number | null,
  serverTime: number,
  metadataJson: string | undefined,
  connection: string,
  session: string | undefined,
): string {
  const metadata = metadataJson === undefined ? "" : `,"metadata":${metadataJson}`;
  const overHttp = session === undefined ? "" : `,"session":"${session}"`;
  return `{"type":"welcome","peerId":${JSON.stringify(peerId)},"expiresAt":${expiresAt},"serverTime":${serverTime},"maxMessageSize":${MESSAGE_MAX_BYTES},"features":${FEATURES},"connection":"${connection}"${overHttp}${metadata}}`;
}

export const goingAway = (retryAfterMs: number): string => `{"type":"going_away","retryAfterMs":${retryAfterMs}}`;

const fromMetadata = (json: string | undefined): string => (json === undefined ? "" : `,"fromMetadata":${json}`);

export const message = (
  channelJson: string,
  fromJson: string,
  metadataJson: string | undefined,
  dataJson: string,
  fields = "",
): string =>
  `{"type":"message","channel":${channelJson},"from":${fromJson}${fromMetadata(metadataJson)},"data":${dataJson}${fields}}`;

export const direct = (fromJson: string, metadataJson: string | undefined, dataJson: string, fields = ""): string =>
  `{"type":"direct","from":${fromJson}${fromMetadata(metadataJson)},"data":${dataJson}${fields}}`;

/** The `id` that a message was published or sent with, as a member of its frame; it is printable ASCII. */
export const idField = (id: string | undefined): string => (id === undefined ? "" : `,"id":${JSON.stringify(id)}`);

/** What a message of a channel with history has beside the others, as members of its frame. */
export const storedFields = (position: Position, time: number, id: string | undefined): string =>
  `,"pos":"${positionText(position)}","time":${time}${idField(id)}`;

/** Marks a message whose data is bytes of a stream: a member of its frame. */
export const BASE64_FIELD = ',"encoding":"base64"';

/** A stored message in a page of history: like its frame, without type and channel. */
export const historyEntry = (
  fromJson: string,
  metadataJson: string | undefined,
  dataJson: string,
  fields: string,
): string => `{"from":${fromJson}${fromMetadata(metadataJson)},"data":${dataJson}${fields}}`;

/** `fields`: the members `pos`, `messages` and `more`. */
export const history = (requestId: string | undefined, channelJson: string, fields: string): string =>
  `{"type":"history",${requestId === undefined ? "" : `"requestId":${JSON.stringify(requestId)},`}"channel":${channelJson},${fields}}`;

/** One member in a roster or a presence change. */
export const presenceEntry = (peerIdJson: string, metadataJson: string | undefined): string =>
  metadataJson === undefined ? `{"peerId":${peerIdJson}}` : `{"peerId":${peerIdJson},"metadata":${metadataJson}}`;

/** What a member says about itself, as a member of an entry. `isLost`: it has no connection any more, and has not said goodbye. */
export const stateField = (stateJson: string | undefined, isLost: boolean): string =>
  `"state":${stateJson ?? "null"}${isLost ? ',"lost":true' : ""}`;

/** An entry of a roster for subscriptions with `state: true`. */
export const withState = (entry: string, field: string): string => `${entry.slice(0, -1)},${field}}`;

export const stateEntry = (peerIdJson: string, field: string): string => `{"peerId":${peerIdJson},${field}}`;

export const stateChange = (channelJson: string, changed: readonly string[]): string =>
  `{"type":"state","channel":${channelJson},"changed":[${changed.join()}]}`;

export const occupancy = (channelJson: string, peers: number, connections: number): string =>
  `{"type":"occupancy","channel":${channelJson},"peers":${peers},"connections":${connections}}`;

export const presenceChange = (channelJson: string, joined: readonly string[], left: readonly string[]): string =>
  `{"type":"presence","channel":${channelJson},"joined":[${joined.join()}],"left":[${left.join()}]}`;

export const roster = (channelJson: string, entriesJson: string): string =>
  `{"type":"presence","channel":${channelJson},"joined":[${entriesJson}],"left":[],"snapshot":true}`;
