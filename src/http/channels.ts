/** Channels over REST: which are active, who is in one, publish to one. */
import { z } from "zod";
import type { Credential } from "../access/credential.ts";
import { TOKEN_PEER_METADATA_MAX_BYTES } from "../access/limits.ts";
import type { MemberState } from "../engine/engine.ts";
import { type Action, bitOf } from "../protocol/actions.ts";
import { Problem } from "../protocol/codes.ts";
import { CHANNEL_MAX_BYTES, MESSAGE_MAX_BYTES } from "../protocol/limits.ts";
import { isChannelName, isReserved, utf8Bytes } from "../protocol/names.ts";
import { rawValue } from "../protocol/scan.ts";
import type { Hub } from "../realtime/hub.ts";
import type { Call } from "./call.ts";
import { type Endpoint, endpoint, type Guard } from "./endpoint.ts";
import { bag, checkBagSize, limit, peerId } from "./schemas.ts";
import { type Cut, streamedArray } from "./streamed-array.ts";
import type { Streams } from "./streams.ts";

/** `Retry-After` when not every node has answered. */
const RETRY_SECONDS = 1;

/** A message that a backend sends: `data` and `peerMetadata` are passed on byte for byte. */
export const message = z.object({
  data: z
    .custom<unknown>((value) => value !== undefined, "is required (any JSON value, null included)")
    .meta({ description: "Any JSON value." }),
  from: peerId.describe('Who it comes from; "server" if absent.').optional(),
  peerMetadata: bag.describe("Shown as the sender's metadata; at most 4 KB as it is sent.").optional(),
});

export interface RestMessage {
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
}

export function readMessage(body: z.infer<typeof message>, text: string): RestMessage {
  const dataJson = rawValue(text, "data") ?? "null";
  if (utf8Bytes(dataJson) > MESSAGE_MAX_BYTES)
    throw new Problem("invalid_request", `data: must be at most ${MESSAGE_MAX_BYTES} bytes as JSON`);
  const metadataJson = rawValue(text, "peerMetadata");
  checkBagSize("peerMetadata", metadataJson, TOKEN_PEER_METADATA_MAX_BYTES);
  return { from: body.from ?? "server", metadataJson, dataJson };
}

export function permit(credential: Credential, action: Action): void {
  if ((credential.key.actions & bitOf(action)) === 0)
    throw new Problem("action_not_permitted", `The key does not permit ${action}.`);
}

/** The messages of an application's period may be used up. */
export type Quota = (app: string) => void;

function channelOf(call: Call, credential: Credential): string {
  const name = call.params.channel;
  if (!isChannelName(name))
    throw new Problem(
      "invalid_request",
      `channel: must be 1 to ${CHANNEL_MAX_BYTES} bytes without control characters and '*'`,
    );
  if (isReserved(name)) throw new Problem("channel_reserved");
  if (!credential.key.scope.matches(name)) throw new Problem("channel_not_authorized");
  return name;
}

const listed = z.object({ channel: z.string(), peers: z.int(), connections: z.int() }).meta({ id: "ActiveChannel" });
const member = z.object({ peerId: z.string(), metadata: z.looseObject({}).optional() }).meta({ id: "ChannelPeer" });

/** Each may have 4 KiB of metadata. */
const MEMBERS_PER_PAGE = 200;

function* membersOf(members: readonly MemberState[]): Generator<MemberState[], undefined> {
  for (let at = 0; at < members.length; at += MEMBERS_PER_PAGE) yield members.slice(at, at + MEMBERS_PER_PAGE);
}

/** Put together as text: parsing metadata would change 20-digit numbers. */
const memberJson = ({ peerId, metadataJson }: MemberState): string =>
  `{"peerId":${JSON.stringify(peerId)}${metadataJson === undefined ? "" : `,"metadata":${metadataJson}`}}`;

export interface ChannelParts {
  readonly hub: Hub;
  readonly quota: Quota;
  readonly streams: Streams;
  readonly cut: Cut;
}

export function channelEndpoints(guard: Guard<Credential>, parts: ChannelParts): Endpoint[] {
  const { hub, quota, streams, cut } = parts;
  const base = { tag: "channels", guard } as const;
  return [
    endpoint({
      ...base,
      method: "GET",
      path: "/v1/channels",
      summary: "Active channels that the key covers",
      query: z.object({
        prefix: z.string().describe("Only names that begin so.").optional(),
        limit: limit(1000, 100),
        after: z.string().describe("The `next` of the page before.").optional(),
      }),
      answer: z.object({ data: z.array(listed), next: z.string().nullable() }),
      problems: ["action_not_permitted", "backend_error"],
      handle: async (_call, { who, query }) => {
        permit(who, "presence");
        const all = wholeOf(await hub.census.channels(who.key.app))
          .filter(({ channel }) => channel.startsWith(query.prefix ?? "") && who.key.scope.matches(channel))
          .sort((a, b) => (a.channel < b.channel ? -1 : 1))
          .filter(({ channel }) => query.after === undefined || channel > query.after);
        const data = all.slice(0, query.limit);
        return { data, next: all.length > data.length ? (data.at(-1)?.channel ?? null) : null };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/v1/channels/:channel/peers",
      spans: true,
      summary: "Who is in a channel",
      answer: z.object({ channel: z.string(), peers: z.array(member) }),
      problems: [
        "invalid_request",
        "channel_reserved",
        "channel_not_authorized",
        "action_not_permitted",
        "backend_error",
      ],
      handle: async (call, { who, again }) => {
        const channel = channelOf(call, who);
        permit(who, "presence");
        const members = wholeOf(await hub.census.members(who.key.app, channel));
        const around = { before: `{"channel":${JSON.stringify(channel)},"peers":`, after: "}" };
        const list = { pages: membersOf(members), write: memberJson, pageSize: MEMBERS_PER_PAGE, check: again, around };
        return streamedArray({ ...list, owner: who.key.id, streams, cut: (error) => cut(call, error) });
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: "/v1/channels/:channel/publish",
      spans: true,
      passesOn: true,
      summary: "Publish to a channel",
      body: message,
      answer: z.object({ channel: z.string(), published: z.literal(true) }),
      problems: [
        "channel_reserved",
        "channel_not_authorized",
        "action_not_permitted",
        "over_message_quota",
        "backend_error",
      ],
      handle: (call, { who, body, text }) => {
        const envelope = readMessage(body, text);
        const channel = channelOf(call, who);
        permit(who, "publish");
        quota(who.key.app);
        if (!hub.delivery.publishFrom(who.key.app, channel, envelope)) throw new Problem("backend_error");
        return { channel, published: true };
      },
    }),
  ];
}

/** A list without the share of some node would look complete: it is an error instead. */
function wholeOf<T>(found: T | undefined): T {
  if (found === undefined) throw new Problem("backend_error", "Not every node has answered; try again.", RETRY_SECONDS);
  return found;
}
