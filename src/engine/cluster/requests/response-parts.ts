/** Long responses: split into parts of bounded size, and joined again. */
import { allOf, type ChannelCount, type FoundChannels } from "../../engine.ts";
import { responsePart } from "../wire/encode.ts";
import type { NodeResponse, SequenceState } from "../wire/messages.ts";
import { chunksOf, PARTS_MAX } from "../wire/payload.ts";

/** The texts of a response; none if it needs more than PARTS_MAX. Those to `sequences` and `text` are made elsewhere. */
export function encodeParts(node: string, response: NodeResponse): string[] {
  const pieces = split(response);
  if (pieces.length > PARTS_MAX) return [];
  return pieces.map((piece, part) => responsePart({ node, part, parts: pieces.length, response: piece }));
}

function split(response: NodeResponse): NodeResponse[] {
  switch (response.kind) {
    case "replay":
      return response.items ? chunksOf(response.items).map((items) => ({ kind: "replay", items })) : [response];
    case "channels":
      return chunksOf(response.counts.flatMap(splitCount)).map((counts, at) => ({
        kind: "channels",
        counts,
        steps: at === 0 ? response.steps : 0,
      }));
    case "members":
      return chunksOf(response.members).map((members) => ({ kind: "members", members }));
    default:
      return [response];
  }
}

/** A channel with very many members becomes several entries; only the first has the connections. */
const splitCount = ({ channel, peerIds, connections }: ChannelCount): ChannelCount[] =>
  chunksOf(peerIds).map((some, at) => ({ channel, peerIds: some, connections: at === 0 ? connections : 0 }));

export function joinParts(parts: readonly NodeResponse[]): NodeResponse {
  const [first = { kind: "block" }] = parts;
  if (parts.length === 1) return first;
  switch (first.kind) {
    case "sequences":
      return { kind: "sequences", sequences: parts.flatMap((one) => (one.kind === "sequences" ? one.sequences : [])) };
    case "replay":
      return {
        kind: "replay",
        items: first.items && parts.flatMap((one) => (one.kind === "replay" && one.items) || []),
      };
    case "channels":
      return { kind: "channels", ...allOf(parts.filter((one) => one.kind === "channels")) };
    case "members":
      return { kind: "members", members: parts.flatMap((one) => (one.kind === "members" ? one.members : [])) };
    case "text":
      return { kind: "text", text: parts.map((one) => (one.kind === "text" ? one.text : "")).join("") };
    default:
      return first;
  }
}

/** The sequences of a response; entries of one sequence are joined. */
export function sequencesOf(response: NodeResponse | undefined): SequenceState[] {
  if (response?.kind !== "sequences") return [];
  if (response.sequences.length <= 1) return [...response.sequences];
  const pieces = Map.groupBy(response.sequences, ({ app, channel }) => `${app} ${channel}`);
  return [...pieces.values()].flatMap((all) => {
    const [first] = all;
    return first ? { ...first, members: all.flatMap(({ members }) => members) } : [];
  });
}

/** The channels of a response; entries of one channel are joined. */
export function channelsOf(response: NodeResponse): FoundChannels {
  if (response.kind !== "channels") return { counts: [], steps: 0 };
  const counts = [...Map.groupBy(response.counts, ({ channel }) => channel)].map(([channel, all]) => ({
    channel,
    peerIds: all.flatMap(({ peerIds }) => peerIds),
    connections: all.reduce((sum, { connections }) => sum + connections, 0),
  }));
  return { counts, steps: response.steps };
}
