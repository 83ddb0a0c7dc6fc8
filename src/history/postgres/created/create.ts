/** Creates streams and forks of streams: what a fork is of is found here, and copied by the server. */

import { bytesOf, dataFormOf, mediaTypeOf } from "../../../protocol/streams/data.ts";
import {
  type CreatedPage,
  type Creating,
  type Creation,
  DEFAULT_TYPE,
  type ForkPoint,
  type StreamName,
} from "../../contract/created-streams.ts";
import { baseOf, cutOf, forkText } from "../../contract/fork-point.ts";
import { HistoryUnavailable, type NewMessage, type Range, type StoredMessage } from "../../contract/history.ts";
import { FORK_MAX_BYTES, FORK_MAX_MESSAGES } from "../../contract/limits.ts";
import { messageBytes } from "../../contract/size.ts";
import { prepare, resultsOf } from "../server/batch.ts";
import type { PostgresConnections } from "../server/connections.ts";
import { bounded } from "./batch.ts";
import { type StreamJson, streamOf } from "./rows.ts";

/** Nothing that trims or forgets streams touches one that keeps this much, and was used then. */
const KEPT_MESSAGES = Number.MAX_SAFE_INTEGER;
const KEPT_MS = 1e14;
const USED_MS = 1e14;
/** A creation is sent again when something of it has changed meanwhile. */
const TRIES_MAX = 10;
/** A part of the source of a fork that is looked at in one turn. */
const PAGE_MESSAGES = 128;
const PAGE_BYTES = 256 * 1024;
/** As the last message of a fork: the source has no such place. */
const NOWHERE = -1;

/** What a fork is of, as long as the epoch of its source is this one. */
interface Resolved {
  readonly epoch: string | undefined;
  /** The last message that it has; `undefined`: that of its source. */
  readonly last: number | undefined;
  /** Its first bytes of the message behind that one. */
  readonly partial: readonly NewMessage[];
}

interface Answer {
  readonly outcome: Creating["outcome"];
  readonly stream?: StreamJson;
  readonly streams?: unknown;
}

interface CreateParts {
  /** Where creations are sent; forks take longer. */
  readonly connectionsFor: (isFork: boolean) => { readonly connections: PostgresConnections; readonly maxMs?: number };
  readonly skewMs: () => number;
  readonly read: (name: StreamName, range: Range) => Promise<CreatedPage | "gone" | undefined>;
}

export class PostgresCreate {
  constructor(private readonly parts: CreateParts) {}

  async create(creation: Creation): Promise<Creating> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const resolved = creation.fork && (await this.resolve(creation, creation.fork));
      const created = await this.send(creation, resolved);
      if (created) return created;
    }
    throw new HistoryUnavailable("the stream was not created: others of its name or its source came and went");
  }

  /** `undefined`: it is to be sent again. */
  private async send(creation: Creation, resolved: Resolved | undefined): Promise<Creating | undefined> {
    const { spaceId, channel, contentType, ttlSeconds, expiresAtMs, idleSeconds, isClosed, fork, limits } = creation;
    const partial = resolved?.partial ?? [];
    const prepared = prepare({ check: creation.check, messages: [...partial, ...creation.messages] });
    const [, senders, connection, mids, scopes, metadatas, datas, sizes] = prepared.messages;
    const type = contentType ?? (fork ? null : DEFAULT_TYPE);
    const ttlMs = ttlSeconds === undefined ? null : ttlSeconds * 1000;
    const { connections, maxMs } = this.parts.connectionsFor(fork !== undefined);
    const json = await connections.run(async (sql) => {
      const rows: { result: string }[] = await sql`
        SELECT history_create(${spaceId}, ${channel}, ${this.parts.skewMs()}::BIGINT, ${type}, ${type === null ? null : mediaTypeOf(type)},
          ${ttlMs}::BIGINT, ${expiresAtMs ?? null}::BIGINT, ${idleSeconds * 1000}::BIGINT, ${isClosed},
          ${bounded(limits.streams)}::BIGINT, ${bounded(limits.streamBytes)}::BIGINT, ${bounded(limits.appBytes)}::BIGINT,
          ${fork ? forkText(fork) : null}, ${fork?.source ?? null}, ${resolved?.epoch ?? null}, ${resolved?.last ?? null}::BIGINT,
          ${FORK_MAX_MESSAGES}::BIGINT, ${FORK_MAX_BYTES}::BIGINT, ${KEPT_MESSAGES}::BIGINT, ${KEPT_MS}::BIGINT, ${USED_MS}::BIGINT,
          ${creation.check}, ${senders}::TEXT[], ${connection}::TEXT[], ${mids}::TEXT[], ${scopes}::TEXT[], ${metadatas}::TEXT[],
          ${datas}::TEXT[], ${sizes}::BIGINT[]) AS result`;
      return rows[0]?.result ?? "";
    }, maxMs);
    if (json === "") return undefined;
    const { outcome, stream } = JSON.parse(json) as Answer;
    if (outcome !== "created" && outcome !== "exists") return { outcome };
    if (!stream) throw new Error("a stream that was created has not been returned");
    const appended = outcome === "created" ? resultsOf(prepared, creation.check, json).slice(partial.length) : [];
    return { outcome, stream: streamOf(stream), appended };
  }

  private async resolve({ spaceId }: Creation, point: ForkPoint): Promise<Resolved> {
    const name = { spaceId, channel: point.source };
    if (point.at === "end" && point.more === 0) return { epoch: undefined, last: undefined, partial: [] };
    const after = typeof point.at === "string" ? 0 : point.at.offset;
    const first = await this.read(name, after, point.more === 0 ? 0 : PAGE_MESSAGES);
    // It may be there when the creation is decided: then this is repeated.
    if (!first) return { epoch: "", last: NOWHERE, partial: [] };
    const { stream, page } = first;
    const nowhere = { epoch: stream.epoch, last: NOWHERE, partial: [] };
    const base = baseOf(point, stream, () => page.check);
    if (base === undefined) return nowhere;
    if (dataFormOf(stream.config.contentType) !== "json" && point.more > 0 && base < stream.top)
      return this.cut(name, first, base, point.more);
    const last = base + point.more;
    return last <= stream.top ? { ...nowhere, last } : nowhere;
  }

  /** Where the bytes behind the base end that the fork is to have. */
  private async cut(name: StreamName, first: CreatedPage, base: number, more: number): Promise<Resolved> {
    const { epoch, config } = first.stream;
    const form = dataFormOf(config.contentType);
    let { messages, more: hasMore } = first.page;
    let at = base;
    let left = more;
    let copied = 0;
    for (;;) {
      const cut = cutOf(left, config.contentType, dataOf(messages));
      if (cut) return { epoch, last: at + cut.whole, partial: partialOf(cut.partial, name, messages[cut.whole]) };
      for (const { dataJson, bytes } of messages) {
        left -= bytesOf(dataJson, form).length;
        copied += bytes;
      }
      at = messages.at(-1)?.offset ?? at;
      // Too large in any case: the rest need not be looked at.
      if (copied > FORK_MAX_BYTES || at > FORK_MAX_MESSAGES) return { epoch, last: at, partial: [] };
      const next = hasMore ? await this.read(name, at, PAGE_MESSAGES) : undefined;
      if (next?.stream.epoch !== epoch) return { epoch, last: NOWHERE, partial: [] };
      ({ messages, more: hasMore } = next.page);
    }
  }

  private async read(name: StreamName, after: number, limit: number): Promise<CreatedPage | undefined> {
    const found = await this.parts.read(name, { after, limit, maxBytes: PAGE_BYTES });
    return found === "gone" ? undefined : found;
  }
}

function* dataOf(messages: readonly StoredMessage[]): Generator<string> {
  for (const { dataJson } of messages) yield dataJson;
}

/** `of`: the message at which the fork begins. */
function partialOf(data: readonly string[], name: StreamName, of: StoredMessage | undefined): readonly NewMessage[] {
  return data.map((dataJson) => {
    const texts = {
      from: of?.from ?? "server",
      metadataJson: undefined,
      dataJson,
      connection: undefined,
      id: undefined,
    };
    const keep = { messages: KEPT_MESSAGES, seconds: KEPT_MS / 1000 };
    return { ...name, keep, idScope: "", ...texts, bytes: messageBytes(texts) };
  });
}
