/** Control plane: the stored messages of a channel, by page; delete them. */
import { z } from "zod";
import type { Operator } from "../../../access/operators/operator.ts";
import { spaceOf } from "../../../base/ids.ts";
import { lazily } from "../../../base/lazily.ts";
import type { Page, StoredMessage } from "../../../history/contract/history.ts";
import { BASE64_FIELD, idField } from "../../../protocol/encode.ts";
import { utf8Bytes } from "../../../protocol/names.ts";
import { bytesOf, type DataForm, dataFormOf, shownOf } from "../../../protocol/streams/data.ts";
import type { HistoryPages } from "../../../realtime/streams/pages.ts";
import type { Streams } from "../../../realtime/streams/streams.ts";
import type { AppRow } from "../../../store/contract/store.ts";
import type { OperatorGuards } from "../../guards/operator.ts";
import type { Call } from "../../request/call.ts";
import { channelIn } from "../../request/path-names.ts";
import { jsonTextResponse } from "../../response/json.ts";
import { type Endpoint, endpoint } from "../../server/endpoint.ts";
import type { Audit } from "../../shared/audit.ts";
import {
  endOf,
  historyQuery,
  inHistory,
  noHistory,
  noStream,
  placeOf,
  readCreated,
  readHistory,
} from "../../shared/history-pages.ts";
import type { AppIn } from "../app-in.ts";

const entry = lazily(() =>
  z
    .object({
      from: z.string(),
      fromMetadata: z.looseObject({}).optional(),
      pos: z.string(),
      time: z.int().describe("Unix milliseconds"),
      id: z.string().optional().describe("With which it was published"),
      encoding: z.literal("base64").optional().describe("Of `data`: in streams that are neither JSON nor text"),
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
  readonly pages: Pick<HistoryPages, "read" | "readCreated">;
  readonly streams: Pick<Streams, "retentionOf" | "createdRuleOf" | "remove">;
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
  /** The channel of a rule with `stream`. */
  const streamIn = async (call: Call): Promise<{ app: AppRow; channel: string } | undefined> => {
    const channel = channelIn(call);
    const app = await appIn(call);
    return streams.createdRuleOf(spaceOf(app.id), channel) && { app, channel };
  };
  return [
    endpoint({
      ...base,
      guard: operator,
      scope: "app",
      method: "GET",
      summary: "The stored messages of a channel or a stream, newest first, or after a position",
      query: historyQuery,
      response: page,
      problems: ["not_found", "channel_reserved", "backend_error"],
      handle: async (call, { caller, query }) => {
        const withData = (app: AppRow): boolean => mayShow(caller, app);
        const created = await streamIn(call);
        if (created) {
          const { app, channel } = created;
          const read = await readCreated(pages, app.id, channel, query);
          if (!read) throw noStream();
          const form = dataFormOf(read.stream.config.contentType);
          return jsonTextResponse(`${pageJson(channel, read.page, withData(app), form)}\n`);
        }
        const { app, channel } = await found(call);
        const read = await readHistory(pages, app.id, channel, query);
        return jsonTextResponse(`${pageJson(channel, read, withData(app), "json")}\n`);
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
function pageJson(channel: string, read: Page | undefined, withData: boolean, form: DataForm): string {
  const messages = read?.messages.map((one) => entryJson(read, one, withData, form)) ?? [];
  const head = JSON.stringify({ channel, pos: read ? endOf(read) : null }).slice(0, -1);
  return `${head},"messages":[${messages.join(",")}],"more":${read?.more ?? false}}`;
}

function entryJson(read: Page, one: StoredMessage, withData: boolean, form: DataForm): string {
  const metadata = one.metadataJson === undefined ? "" : `,"fromMetadata":${one.metadataJson}`;
  const place = `"pos":"${placeOf(read, one)}","time":${one.time}${idField(one.id)}`;
  const { dataJson, isBase64 } = shownOf(one.dataJson, form);
  const encoding = isBase64 ? BASE64_FIELD : "";
  const data = withData ? `,"data":${dataJson}` : "";
  return `{"from":${JSON.stringify(one.from)}${metadata},${place}${encoding},"bytes":${bytesIn(one.dataJson, form)}${data}}`;
}

/** JSON counts as it was written, anything else by its bytes. */
const bytesIn = (dataJson: string, form: DataForm): number =>
  form === "json" ? utf8Bytes(dataJson) : bytesOf(dataJson, form).length;
