/** Channels over REST: list the active ones, list a channel's members, publish. */
import { z } from "zod";
import type { KeyRate } from "../../access/keys/coverage.ts";
import type { Credential } from "../../access/keys/credential.ts";
import { spaceOf } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import type { MemberState } from "../../engine/engine.ts";
import { Problem } from "../../protocol/codes.ts";
import { LISTED_ENTRY_STEPS } from "../../protocol/limits.ts";
import { requestsOf } from "../../protocol/patterns/containment.ts";
import type { Occupancy } from "../../realtime/presence/occupancy.ts";
import { keyIdScope } from "../../realtime/state/connection.ts";
import type { Publishing } from "../../realtime/streams/publishing.ts";
import type { KeyTraffic } from "../../telemetry/key-traffic.ts";
import type { Call } from "../request/call.ts";
import { channelIn } from "../request/path-names.ts";
import { type LogIncomplete, streamedArray } from "../response/streamed-array.ts";
import type { StreamedResponses } from "../response/streamed-responses.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { message, permit, published, publishMessage, readMessage } from "../shared/messages.ts";
import { limit } from "../shared/schemas.ts";

/** `Retry-After` if not every node has responded. */
const RETRY_SECONDS = 1;

function channelOf(call: Call, credential: Credential): string {
  const name = channelIn(call);
  if (!credential.key.scope.matches(name)) throw new Problem("channel_not_authorized");
  return name;
}

const listed = lazily(() =>
  z.object({ channel: z.string(), peers: z.int(), connections: z.int() }).meta({ id: "ActiveChannel" }),
);
const member = lazily(() =>
  z
    .object({
      peerId: z.string(),
      metadata: z.looseObject({}).optional(),
      state: z.looseObject({}).optional().describe("What it says about itself in this channel"),
    })
    .meta({ id: "ChannelPeer" }),
);

/** Bounds what is put together at once: each member may have TOKEN_PEER_METADATA_MAX_BYTES of metadata. */
const MEMBERS_PER_PAGE = 200;

function* pagesOf(members: readonly MemberState[]): Generator<MemberState[], undefined> {
  for (let at = 0; at < members.length; at += MEMBERS_PER_PAGE) yield members.slice(at, at + MEMBERS_PER_PAGE);
}

/** Metadata and state are copied as text: parsing them would change numbers beyond double precision. */
const memberJson = ({ peerId, metadataJson, stateJson }: MemberState): string =>
  `{"peerId":${JSON.stringify(peerId)}${field("metadata", metadataJson)}${field("state", stateJson)}}`;

const field = (name: string, json: string | undefined): string => (json === undefined ? "" : `,"${name}":${json}`);

interface ChannelParts {
  readonly occupancy: Pick<Occupancy, "channels" | "members">;
  readonly publishing: Pick<Publishing, "publish">;
  readonly keyTraffic: Pick<KeyTraffic, "of">;
  readonly responses: StreamedResponses;
  readonly keyRate: KeyRate;
  readonly logIncomplete: LogIncomplete;
}

export function channelEndpoints(guard: Guard<Credential>, parts: ChannelParts): Endpoint[] {
  const { occupancy, publishing, keyTraffic, responses, keyRate, logIncomplete } = parts;
  const base = { tag: "channels", guard } as const;
  /** Long lists are charged when they are read. Requests that were let in at the same time could otherwise all be for long ones. */
  const refuseInDebt = (keyId: string): void => {
    const seconds = keyRate.debt(keyId);
    if (seconds > 0) throw new Problem("rate_limited", undefined, seconds);
  };
  return [
    endpoint({
      ...base,
      method: "GET",
      path: "/v1/channels",
      summary: "Active channels that the key covers",
      query: () =>
        z.object({
          prefix: z.string().describe("Only names that begin with this.").optional(),
          limit: limit(1000, 100),
          after: z.string().describe("`next` of the previous page.").optional(),
        }),
      response: () => z.object({ data: z.array(listed()), next: z.string().nullable() }),
      problems: ["action_not_permitted", "backend_error"],
      handle: async (_call, { caller, query }) => {
        permit(caller, "presence");
        const { id, app, scope } = caller.key;
        refuseInDebt(id);
        const page = { ...query, prefix: query.prefix ?? "", scope };
        return completeList(await occupancy.channels(spaceOf(app), page, (requests) => keyRate.charge(id, requests)));
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/v1/channels/:channel/peers",
      hasRawSlashes: true,
      summary: "The members of a channel",
      response: () => z.object({ channel: z.string(), peers: z.array(member()) }),
      problems: [
        "invalid_request",
        "channel_reserved",
        "channel_not_authorized",
        "action_not_permitted",
        "backend_error",
      ],
      handle: async (call, { caller, recheck }) => {
        const channel = channelOf(call, caller);
        permit(caller, "presence");
        refuseInDebt(caller.key.id);
        const members = completeList(await occupancy.members(spaceOf(caller.key.app), channel));
        keyRate.charge(caller.key.id, requestsOf(members.length * LISTED_ENTRY_STEPS));
        const around = { before: `{"channel":${JSON.stringify(channel)},"peers":`, after: "}" };
        const list = { pages: pagesOf(members), write: memberJson, pageSize: MEMBERS_PER_PAGE, check: recheck, around };
        const owner = caller.key.app;
        return streamedArray({ ...list, owner, responses, logIncomplete: (error) => logIncomplete(call, error) });
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: "/v1/channels/:channel/publish",
      hasRawSlashes: true,
      passesOn: true,
      summary: "Publish to a channel",
      body: message,
      response: published,
      problems: [
        "channel_reserved",
        "channel_not_authorized",
        "action_not_permitted",
        "over_message_quota",
        "backend_error",
      ],
      handle: async (call, { caller, body, textOf }) => {
        const envelope = readMessage(body, textOf);
        const channel = channelOf(call, caller);
        permit(caller, "publish");
        const { app, id } = caller.key;
        const done = await publishMessage(publishing, app, channel, envelope, keyIdScope(id));
        if (!done.duplicate) keyTraffic.of(app, id).messages++;
        return done;
      },
    }),
  ];
}

/** Throws if some node has not responded: a list without its part would look complete. */
function completeList<T>(found: T | undefined): T {
  if (found === undefined)
    throw new Problem("backend_error", "Not every node has responded. Try again.", RETRY_SECONDS);
  return found;
}
