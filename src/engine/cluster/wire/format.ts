/**
 * The texts of which there are most, in one of two formats: JSON where others can publish and nodes of the previous release read, compact
 * between the workers of one machine. Everything else is JSON (encode.ts, decode.ts).
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { Envelope } from "../../engine.ts";
import * as compact from "./compact.ts";
import * as decode from "./decode.ts";
import * as encode from "./encode.ts";
import type {
  DeliveryCount,
  DirectMessage,
  MembersChange,
  NodeRequest,
  NodeResponse,
  ResponsePart,
  SequenceItem,
  SequencePlace,
} from "./messages.ts";

export interface Format {
  message(place: SequencePlace, envelope: Envelope): string;
  members(place: SequencePlace, change: MembersChange): string;
  /** An item that has arrived on the subject of a channel. undefined: no node sends it. */
  sequenceItem(text: string, app: SpaceId, channel: string): SequenceItem | undefined;
  directMessage(message: DirectMessage): string;
  /** What has arrived on the subject of a peer. undefined: no node sends it. */
  directMessageOf(text: string, isSubjectOf: (message: DirectMessage) => boolean): DirectMessage | undefined;
  deliveryCount(receipt: DeliveryCount): string;
  deliveryCountOf(text: string): DeliveryCount | undefined;
  request(node: string, request: NodeRequest): string;
  nodeMessage(text: string): decode.NodeMessage | undefined;
  responsePart(part: ResponsePart): string;
  responsePartOf(text: string): ResponsePart | undefined;
  /** For a node that has subscribed, in place of a state that is long: it has to ask. */
  longState(node: string): string;
  /** What a node has reported; undefined: it is something else. */
  reportOf(text: string): Report | undefined;
}

/** `response` is undefined: the node has to be asked. */
export interface Report {
  readonly node: string;
  readonly response: NodeResponse | undefined;
}

export const JSON_FORMAT: Format = {
  message: encode.message,
  members: encode.members,
  /** The subject decides the channel: an item that names another one is forged. */
  sequenceItem: (text, app, channel) => {
    const item = decode.sequenceItem(text);
    return item?.place.app === app && item.place.channel === channel ? item : undefined;
  },
  directMessage: encode.directMessage,
  /** The subject decides the receiver: a message that names another one is forged. */
  directMessageOf: (text, isSubjectOf) => {
    const message = decode.directMessage(text);
    return message && isSubjectOf(message) ? message : undefined;
  },
  deliveryCount: encode.deliveryCount,
  deliveryCountOf: decode.deliveryCount,
  request: encode.request,
  nodeMessage: decode.nodeMessage,
  responsePart: encode.responsePart,
  responsePartOf: decode.responsePart,
  // Nothing is reported where others can publish.
  longState: () => "",
  reportOf: () => undefined,
};

export const COMPACT_FORMAT: Format = {
  message: compact.message,
  members: compact.members,
  sequenceItem: (text, app, channel) =>
    compact.sequenceItem(text, app, channel) ??
    (text.startsWith("[") ? JSON_FORMAT.sequenceItem(text, app, channel) : undefined),
  directMessage: compact.directMessage,
  directMessageOf: compact.directMessageOf,
  deliveryCount: compact.deliveryCount,
  deliveryCountOf: compact.deliveryCountOf,
  request: (node, request) => {
    const [only, ...others] = request.kind === "sequences" ? request.channels : [];
    return only && others.length === 0 ? compact.sequenceQuestion(node, ...only) : encode.request(node, request);
  },
  nodeMessage: (text) => compact.sequenceQuestionOf(text) ?? decode.nodeMessage(text),
  responsePart: (one) => {
    const [only, ...others] = one.response.kind === "sequences" ? one.response.sequences : [];
    const isWhole = only && others.length === 0 && one.parts === 1;
    return isWhole ? compact.sequenceState(one.node, only) : encode.responsePart(one);
  },
  responsePartOf: (text) => compact.sequenceStateOf(text) ?? decode.responsePart(text),
  longState: compact.longState,
  reportOf: (text) => {
    const node = compact.longStateOf(text);
    return node === undefined ? compact.sequenceStateOf(text) : { node, response: undefined };
  },
};
