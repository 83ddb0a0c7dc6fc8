/** Control plane: the stored messages of a channel, by page; delete them. */
import { z } from "zod";
import type { Operator } from "../../../access/operators/operator.ts";
import { spaceOf } from "../../../base/ids.ts";
import { lazily } from "../../../base/lazily.ts";
import type { Page, StoredMessage } from "../../../history/contract/history.ts";
import { idField } from "../../../protocol/encode.ts";
import { utf8Bytes } from "../../../protocol/names.ts";
import type { HistoryPages } from "../../../realtime/streams/pages.ts";
import type { Streams } from "../../../realtime/streams/streams.ts";
import type { AppRow } from "../../../store/contract/store.ts";
import type { OperatorGuards } from "../../guards/operator.ts";
import type { Call } from "../../request/call.ts";
import { channelIn } from "../../request/path-names.ts";
import { jsonTextResponse } from "../../response/json.ts";
import { type Endpoint, endpoint } from "../../server/endpoint.ts";
import type { Audit } from "../../shared/audit.ts";
import { endOf, historyQuery, inHistory, noHistory, placeOf, readHistory } from "../../shared/history-pages.ts";
import type { AppIn } from "../app-in.ts";

const entry = lazily(() =>
  z
    .object({
      from: z.string(),
      fromMetadata: z.looseObject({}).optional(),
      pos: z.string(),
      time: z.int().describe("Unix milliseconds"),
      id: z.string().optional().describe("With which it was published"),
      bytes: z.int().describe("The size of its data"),
      data: z.unknown().optional().describe("For admins, if the application has consolePayloads"),
    })
    .meta({ id: "StoredMessage" }),
);

const page = lazily(() =>
  z
    .object({
      channel: z.string(),
      pos: z.string().nullable().describe("Where the history ends; null: nothing was stored yet"),
      messages: z.array(entry()),
      more: z.boolean().describe("More messages follow in the direction of reading"),
    })
    .meta({ id: "HistoryPage" }),
);

interface AdminHistoryParts {
  readonly pages: Pick<HistoryPages, "read">;
  readonly streams: Pick<Streams, "retentionOf" | "remove">;
  readonly appIn: AppIn;
  readonly audit: Audit;
}

export function adminHistoryEndpoints(
  { admin, operator }: Pick<OperatorGuards, "admin" | "operator">,
  { pages, streams, appIn, audit }: AdminHistoryParts,
): Endpoint[] {
  const path = "/api/internal/v1/apps/:app/channels/:channel/history";
  const base = { tag: "live", path, hasRawSlashes: true } as const;
  /** Throws if the channel has no history. */
  const found = async (call: Call): Promise<{ app: AppRow; channel: string }> => {
    const channel = channelIn(call);
    const app = await appIn(call);
    if (!streams.retentionOf(spaceOf(app.id), channel)) throw noHistory();
    return { app, channel };
  };
  return [
    endpoint({
      ...base,
      guard: operator,
      scope: "app",
      method: "GET",
      summary: "A channel's stored messages, newest first, or after a position",
      query: historyQuery,
      response: page,
      problems: ["not_found", "channel_reserved", "backend_error"],
      handle: async (call, { caller, query }) => {
        const { app, channel } = await found(call);
        const read = await readHistory(pages, app.id, channel, query);
        const json = pageJson(channel, read, mayShow(caller, app));
        return jsonTextResponse(`${json}\n`);
      },
    }),
    endpoint({
      ...base,
      guard: admin,
      scope: "app",
      method: "DELETE",
      summary: "Delete a channel's stored messages; its subscribers reconnect",
      response: () => z.object({ channel: z.string(), deleted: z.literal(true) }),
      problems: ["not_found", "channel_reserved", "backend_error"],
      handle: async (call, { caller }) => {
        const { app, channel } = await found(call);
        await inHistory(streams.remove(spaceOf(app.id), channel));
        await audit(call, caller, { what: "history deleted", on: channel, app: app.id });
        return { channel, deleted: true };
      },
    }),
  ];
}

/** As in the console. */
const mayShow = ({ role }: Operator, { consolePayloads }: AppRow): boolean => role === "admin" && consolePayloads;

/** Data and metadata are copied as text: parsing them would change numbers beyond double precision. */
function pageJson(channel: string, read: Page | undefined, withData: boolean): string {
  const messages = read?.messages.map((one) => entryJson(read, one, withData)) ?? [];
  const head = JSON.stringify({ channel, pos: read ? endOf(read) : null }).slice(0, -1);
  return `${head},"messages":[${messages.join(",")}],"more":${read?.more ?? false}}`;
}

function entryJson(read: Page, one: StoredMessage, withData: boolean): string {
  const metadata = one.metadataJson === undefined ? "" : `,"fromMetadata":${one.metadataJson}`;
  const place = `"pos":"${placeOf(read, one)}","time":${one.time}${idField(one.id)}`;
  const data = withData ? `,"data":${one.dataJson}` : "";
  return `{"from":${JSON.stringify(one.from)}${metadata},${place},"bytes":${utf8Bytes(one.dataJson)}${data}}`;
}
