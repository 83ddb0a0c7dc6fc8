/** Control plane: live channels over all nodes, with a test message as the server. */
import { z } from "zod";
import type { Keyring } from "../../../access/keys/keyring.ts";
import { spaceOf } from "../../../base/ids.ts";
import { lazily } from "../../../base/lazily.ts";
import { CHANNEL_MAX_BYTES } from "../../../protocol/limits.ts";
import type { ChannelRule } from "../../../protocol/patterns/channel-rules.ts";
import type { ChannelWithMembers, LiveChannels } from "../../../realtime/operators/live/channels.ts";
import { LIVE_MEMBERS_MAX, LIVE_PAGE_MAX } from "../../../realtime/operators/live/limits.ts";
import type { Publishing } from "../../../realtime/streams/publishing.ts";
import type { Guards } from "../../guards/realtime.ts";
import { channelIn } from "../../request/path-names.ts";
import { jsonTextResponse } from "../../response/json.ts";
import { type Endpoint, endpoint } from "../../server/endpoint.ts";
import type { Audit } from "../../shared/audit.ts";
import { message, OPERATORS, published, publishMessage, readMessage } from "../../shared/messages.ts";
import { limit } from "../../shared/schemas.ts";
import type { AppIn } from "../app-in.ts";
import { retention, streamRule } from "../channel-rule-schemas.ts";

const isComplete = lazily(() =>
  z.boolean().describe("false: a node has not responded, and what only it knows is missing"),
);
const next = lazily(() => z.string().nullable());
const figures = lazily(() =>
  z.object({
    channel: z.string(),
    peers: z.int().describe("Members on all nodes"),
    connections: z.int().describe("Connections that subscribe, with and without the action `presence`"),
    ratePerSec: z.number().describe("Messages per second, lately"),
    bytesPerSec: z.number().describe("Bytes per second of its messages as they are written, once per message"),
  }),
);
/** What the channel's rule says. */
const kept = lazily(() =>
  z.object({
    history: retention().nullable().describe("Which of its messages are stored; null: none"),
    stream: streamRule().nullable().describe("It is a stream, if it was created; null: it is none"),
  }),
);
const listed = lazily(() => figures().extend(kept().shape).meta({ id: "LiveChannel" }));
const member = lazily(() =>
  z
    .object({
      peerId: z.string(),
      metadata: z.looseObject({}).optional(),
      state: z.looseObject({}).optional().describe("What the member said about itself"),
      connections: z.int(),
      lost: z.literal(true).optional().describe("It has no connection left and stays until its grace period ends"),
    })
    .meta({ id: "LiveMember" }),
);
const one = lazily(() =>
  figures()
    .extend(kept().shape)
    .extend({
      graceSec: z.int().describe("How long members stay after losing their connection without a goodbye"),
      members: z.array(member()),
      next: next(),
      isComplete: isComplete(),
    })
    .meta({ id: "LiveChannelWithMembers" }),
);

const after = lazily(() => z.string().max(CHANNEL_MAX_BYTES).describe("`next` of the previous page.").optional());

interface LiveChannelParts {
  readonly publishing: Pick<Publishing, "publish">;
  readonly channels: LiveChannels;
  readonly keyring: Pick<Keyring, "rulesOf">;
  readonly appIn: AppIn;
  readonly audit: Audit;
}

export function liveChannelEndpoints(
  { admin, operator }: Pick<Guards, "admin" | "operator">,
  { publishing, channels, keyring, appIn, audit }: LiveChannelParts,
): Endpoint[] {
  const tag = "live";
  const root = "/api/internal/v1/apps/:app/channels";
  return [
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: root,
      summary: "Channels with subscribers, on all nodes",
      query: () =>
        z.object({
          prefix: z.string().max(CHANNEL_MAX_BYTES).describe("Only names that begin with this.").optional(),
          contains: z
            .string()
            .max(CHANNEL_MAX_BYTES)
            .describe("Only names with this in them, in upper or lower case.")
            .optional(),
          sort: z.enum(["name", "rate"]).describe("rate: the busiest first, one page only. Absent: name.").optional(),
          limit: limit(LIVE_PAGE_MAX, 100),
          after: after(),
        }),
      response: () => z.object({ data: z.array(listed()), next: next(), isComplete: isComplete() }),
      problems: ["not_found"],
      handle: async (call, { query }) => {
        const spaceId = spaceOf((await appIn(call)).id);
        const { prefix = "", contains, limit, after } = query;
        const request = { app: spaceId, prefix, contains, limit, after };
        const { data, ...rest } = await (query.sort === "rate" ? channels.busiest(request) : channels.page(request));
        const rules = keyring.rulesOf(spaceId);
        return { data: data.map((line) => ({ ...line, ...keptBy(rules.ruleFor(line.channel)) })), ...rest };
      },
    }),
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: `${root}/:channel`,
      hasRawSlashes: true,
      summary: "One channel and a page of its members; zeros if it has no subscriber",
      query: () => z.object({ limit: limit(LIVE_MEMBERS_MAX, 100), after: after() }),
      response: one,
      problems: ["not_found", "channel_reserved"],
      handle: async (call, { query }) => {
        const channel = channelIn(call);
        const spaceId = spaceOf((await appIn(call)).id);
        const found = await channels.one({ app: spaceId, channel, limit: query.limit, after: query.after });
        const json = channelJson(channel, found, keyring.rulesOf(spaceId).ruleFor(channel));
        return jsonTextResponse(`${json}\n`);
      },
    }),
    endpoint({
      tag,
      guard: admin,
      scope: "app",
      method: "POST",
      path: `${root}/:channel/publish`,
      hasRawSlashes: true,
      passesOn: true,
      summary: "Publish to a channel as the server",
      body: () => message().strict(),
      response: published,
      problems: ["not_found", "channel_reserved", "over_message_quota", "backend_error"],
      handle: async (call, { caller, body, textOf, recheck }) => {
        const envelope = readMessage(body, textOf);
        const channel = channelIn(call);
        const { id } = await appIn(call);
        recheck();
        const result = await publishMessage(publishing, id, channel, envelope, OPERATORS);
        await audit(call, caller, { what: "message published", on: channel, app: id, after: sizeOf(envelope) });
        return result;
      },
    }),
  ];
}

const keptBy = (rule: ChannelRule | undefined) => ({ history: rule?.history ?? null, stream: rule?.stream ?? null });

/** Metadata and states are copied as text: parsing them would change numbers beyond double precision. */
function channelJson(
  channel: string,
  { members, next, isComplete, ...figures }: ChannelWithMembers,
  rule: ChannelRule | undefined,
): string {
  const list = members.map(({ peerId, metadataJson, stateJson, isLost, connections }) => {
    const metadata = metadataJson === undefined ? "" : `,"metadata":${metadataJson}`;
    const state = stateJson === undefined ? "" : `,"state":${stateJson}`;
    const lost = isLost ? ',"lost":true' : "";
    return `{"peerId":${JSON.stringify(peerId)}${metadata}${state},"connections":${connections}${lost}}`;
  });
  const kept = { ...keptBy(rule), graceSec: rule?.graceSec ?? 0 };
  const head = JSON.stringify({ channel, ...figures, ...kept }).slice(0, -1);
  return `${head},"members":[${list.join(",")}],${JSON.stringify({ next, isComplete }).slice(1)}`;
}

/** The audit has who sent how much, and never what. */
const sizeOf = ({ from, dataJson }: { from: string; dataJson: string }): { from: string; bytes: number } => ({
  from,
  bytes: Buffer.byteLength(dataJson),
});
