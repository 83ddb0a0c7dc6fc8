/** Encodes server frames. Arguments named `…Json` are JSON texts already and are inserted unchanged. */
import { CODES, type Code, wireCode } from "./codes.ts";
import { MESSAGE_MAX_BYTES } from "./limits.ts";

const PONG = '{"type":"pong"}';

export const pong = (requestId: string | undefined): string =>
  requestId === undefined ? PONG : `{"type":"pong","requestId":${JSON.stringify(requestId)}}`;

export const ack = (requestId: string): string => `{"type":"ack","requestId":${JSON.stringify(requestId)}}`;

export function error(code: Code, requestId?: string, message: string = CODES[code].text): string {
  const id = requestId === undefined ? "" : `"requestId":${JSON.stringify(requestId)},`;
  return `{"type":"error",${id}"code":"${wireCode(code)}","message":${JSON.stringify(message)}}`;
}

export function welcome(
  peerId: string,
  expiresAt: number | null,
  serverTime: number,
  metadataJson: string | undefined,
): string {
  const metadata = metadataJson === undefined ? "" : `,"metadata":${metadataJson}`;
  return `{"type":"welcome","peerId":${JSON.stringify(peerId)},"expiresAt":${expiresAt},"serverTime":${serverTime},"maxMessageSize":${MESSAGE_MAX_BYTES}${metadata}}`;
}

export const goingAway = (retryAfterMs: number): string => `{"type":"going_away","retryAfterMs":${retryAfterMs}}`;

const fromMetadata = (json: string | undefined): string => (json === undefined ? "" : `,"fromMetadata":${json}`);

export const message = (
  channelJson: string,
  fromJson: string,
  metadataJson: string | undefined,
  dataJson: string,
): string =>
  `{"type":"message","channel":${channelJson},"from":${fromJson}${fromMetadata(metadataJson)},"data":${dataJson}}`;

export const direct = (fromJson: string, metadataJson: string | undefined, dataJson: string): string =>
  `{"type":"direct","from":${fromJson}${fromMetadata(metadataJson)},"data":${dataJson}}`;

/** One member in a roster or a presence change. */
export const presenceEntry = (peerId: string, metadataJson: string | undefined): string =>
  metadataJson === undefined
    ? `{"peerId":${JSON.stringify(peerId)}}`
    : `{"peerId":${JSON.stringify(peerId)},"metadata":${metadataJson}}`;

export const presenceChange = (channelJson: string, joined: readonly string[], left: readonly string[]): string =>
  `{"type":"presence","channel":${channelJson},"joined":[${joined.join()}],"left":[${left.join()}]}`;

export const roster = (channelJson: string, entriesJson: string): string =>
  `{"type":"presence","channel":${channelJson},"joined":[${entriesJson}],"left":[],"snapshot":true}`;
