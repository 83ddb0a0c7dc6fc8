/** Created streams in PostgreSQL: migrations/ has the functions that these calls run. */
import { randomUUID } from "node:crypto";
import type { SQL } from "bun";
import { systemClock } from "../../../base/clock.ts";
import type { SpaceId } from "../../../base/ids.ts";
import { MESSAGE_ID_REMEMBERED_MS } from "../../../protocol/limits.ts";
import type {
  CreatedPage,
  CreatedStream,
  CreatedStreamStore,
  Creating,
  Creation,
  ListedProducer,
  ListedStream,
  StreamChange,
  StreamName,
  WriteBatch,
  Written,
} from "../../contract/created-streams.ts";
import type { Range } from "../../contract/history.ts";
import {
  ENDED_KEPT_MS,
  IDS_AHEAD_MAX_MS,
  PRODUCER_KEPT_MS,
  PRODUCERS_MAX,
  PRODUCERS_PER_OWNER_MAX,
} from "../../contract/limits.ts";
import { decodeResult } from "../../contract/write-result.ts";
import { arrayLiteral } from "../server/batch.ts";
import { PostgresConnections, StandbyAnswered } from "../server/connections.ts";
import { WriterFence } from "../server/fence.ts";
import { openTransactionsMs } from "../server/open-transactions.ts";
import { type PreparedWrites, prepareWrites } from "./batch.ts";
import { PostgresCreate } from "./create.ts";
import { readOf, type StreamJson, streamOf } from "./rows.ts";

/** Streams that one step of `expire` ends. */
const STEP_STREAMS = 64;
/** Streams that a call which visits all of an application's handles in one transaction. */
const VISIT_STREAMS = 200;

interface PostgresCreatedParts {
  readonly options: SQL.PostgresOrMySQLOptions;
  readonly reader: PostgresConnections;
  /** For what may take `backgroundMs`. */
  readonly background: PostgresConnections;
  readonly backgroundMs: number;
  readonly skewMs: () => number;
  readonly answerMs: number | undefined;
  readonly onReadOnly: () => void;
  /** Throws if a standby answers, and reports another server. */
  readonly compareServer: (sql: SQL) => Promise<void>;
}

interface Row<T> {
  readonly isStandby: boolean;
  readonly value: T;
}

export class PostgresCreatedStreams implements CreatedStreamStore {
  private readonly writer: PostgresConnections;
  private readonly fence: WriterFence;
  private readonly creating: PostgresCreate;
  /** For how long a transaction has been open that `changes` may not have seen. */
  private openMs = 0;

  constructor(private readonly parts: PostgresCreatedParts) {
    const { options, answerMs, onReadOnly, reader, background, backgroundMs, skewMs } = parts;
    const name = `parley-history-${randomUUID()}`;
    const connection = { ...options.connection, application_name: name };
    this.writer = new PostgresConnections({ ...options, connection }, 1, answerMs, onReadOnly);
    this.fence = new WriterFence(this.writer, name, skewMs);
    this.creating = new PostgresCreate({
      connectionsFor: (isFork) => (isFork ? { connections: background, maxMs: backgroundMs } : { connections: reader }),
      skewMs,
      read: this.read,
    });
  }

  create = (creation: Creation): Promise<Creating> => this.creating.create(creation);

  async write(batch: WriteBatch): Promise<readonly Written[]> {
    if (batch.writes.length === 0) return [];
    const prepared = prepareWrites(batch);
    const json = await this.fence.store(batch.writer, {
      check: batch.check,
      send: (writer, generation) => this.send(writer, generation, batch.check, prepared),
      begin: () => this.begin(prepared),
    });
    return decodeResult(json);
  }

  async settle({ writer, check }: WriteBatch): Promise<readonly Written[] | undefined> {
    const json = await this.fence.settle(writer, check);
    // The batch may be missing because another server has taken over.
    await this.parts.reader.run(this.parts.compareServer);
    return json === undefined ? undefined : decodeResult(json);
  }

  describe = async (name: StreamName): Promise<CreatedStream | "gone" | undefined> => {
    const found = await this.readSome(name, undefined);
    return found && found !== "gone" ? found.stream : found;
  };

  read = async (name: StreamName, range: Range): Promise<CreatedPage | "gone" | undefined> => {
    const found = await this.readSome(name, range);
    if (!found || found === "gone") return found;
    const { stream, page } = found;
    return page && { stream, page };
  };

  use = async ({ spaceId, channel }: StreamName): Promise<void> => {
    await this.parts.reader.run(
      (sql) => sql`SELECT history_created_use(${spaceId}, ${channel}, ${this.parts.skewMs()}::BIGINT)`,
    );
  };

  delete = async ({ spaceId, channel }: StreamName): Promise<"deleted" | "gone" | "not found"> => {
    const state = await this.remove(this.parts.reader, spaceId, [channel], false);
    return state === "ready" ? "deleted" : state === "gone" ? "gone" : "not found";
  };

  list = (spaceId: SpaceId, page: Parameters<CreatedStreamStore["list"]>[1]): Promise<readonly ListedStream[]> =>
    this.parts.reader.run(async (sql) => {
      const { after = "", contains = "", limit } = page;
      const rows: { channel: string; stream: string; producers: string }[] = await sql`
        SELECT s.channel, history_created_json(s, c)::TEXT AS stream,
            (SELECT count(*) FROM history_producers p WHERE p.stream = s.id) AS producers
          FROM history_streams s JOIN history_created c ON c.stream = s.id, history_now(${this.parts.skewMs()}::BIGINT) AS now_ms
          WHERE s.app = ${spaceId} AND s.channel > ${after} AND strpos(lower(s.channel), lower(${contains})) > 0
            AND NOT c.is_gone AND c.ends > now_ms
          ORDER BY s.channel LIMIT ${limit}`;
      return rows.map(({ channel, stream, producers }) => ({
        channel,
        ...streamOf(JSON.parse(stream) as StreamJson),
        producers: Number(producers),
      }));
    });

  producers = ({ spaceId, channel }: StreamName, limit: number): Promise<readonly ListedProducer[]> =>
    this.parts.reader.run(async (sql) => {
      const rows: { owner: string; id: string; epoch: string; seq: string; used: string }[] = await sql`
        SELECT p.owner, p.pid AS id, p.epoch, p.seq, p.used
          FROM history_streams s JOIN history_producers p ON p.stream = coalesce(s.ids_of, s.id)
          WHERE s.app = ${spaceId} AND s.channel = ${channel} ORDER BY p.used DESC LIMIT ${limit}`;
      return rows.map(({ owner, id, epoch, seq, used }) => ({
        owner,
        id,
        epoch: Number(epoch),
        seq: Number(seq),
        usedMs: Number(used),
      }));
    });

  changes = (agoMs: number): Promise<readonly StreamChange[]> =>
    this.parts.reader.run(async (sql) => {
      await this.parts.compareServer(sql);
      // Before the streams are read: one that is committed in between is seen by that read.
      const openMs = await openTransactionsMs(sql);
      const backMs = Math.ceil(agoMs + this.openMs);
      const skew = this.parts.skewMs();
      const rows: { app: SpaceId; channel: string; stream: string | null }[] = await sql`
        WITH moment AS MATERIALIZED (SELECT history_now(${skew}::BIGINT) AS ms)
        SELECT n.app, n.channel, CASE WHEN history_created_state(c, moment.ms) = 'ready' THEN history_created_json(s, c) END::TEXT AS stream
          FROM moment, LATERAL (
            SELECT s.app, s.channel FROM history_created c JOIN history_streams s ON s.id = c.stream WHERE c.changed >= moment.ms - ${backMs}::BIGINT
            UNION SELECT e.app, e.channel FROM history_ended e WHERE e.at >= moment.ms - ${backMs}::BIGINT) AS n
          LEFT JOIN history_streams s ON s.app = n.app AND s.channel = n.channel
          LEFT JOIN history_created c ON c.stream = s.id`;
      this.openMs = openMs;
      return rows.map(({ app, channel, stream }) => ({
        spaceId: app,
        channel,
        now: stream === null ? undefined : streamOf(JSON.parse(stream) as StreamJson),
      }));
    });

  async applyRules(spaceId: SpaceId, isStream: (channel: string) => boolean): Promise<void> {
    const { background, backgroundMs } = this.parts;
    for (let after: string | undefined = ""; after !== undefined; ) {
      const from: string = after;
      const rows: { channel: string }[] = await background.run(
        (sql) =>
          sql`SELECT channel FROM history_streams WHERE app = ${spaceId} AND channel > ${from} ORDER BY channel LIMIT ${VISIT_STREAMS}`,
        backgroundMs,
      );
      const over = rows.map(({ channel }) => channel).filter((channel) => !isStream(channel));
      if (over.length > 0) await this.remove(background, spaceId, over, true);
      after = rows.length < VISIT_STREAMS ? undefined : rows.at(-1)?.channel;
    }
    await this.addUp(spaceId);
  }

  /** What an application holds becomes one row, and none if it holds nothing: a deleted one leaves no row. */
  private async addUp(spaceId: SpaceId): Promise<void> {
    await this.parts.background.run(
      (sql) => sql`
        WITH parts AS (DELETE FROM history_held WHERE app = ${spaceId} RETURNING streams, bytes)
        INSERT INTO history_held AS h (app, part, streams, bytes)
          SELECT ${spaceId}, 0, sum(streams), sum(bytes) FROM parts HAVING sum(streams) <> 0 OR sum(bytes) <> 0
        ON CONFLICT (app, part) DO UPDATE SET streams = h.streams + excluded.streams, bytes = h.bytes + excluded.bytes`,
      this.parts.backgroundMs,
    );
  }

  expire = (): Promise<boolean> =>
    this.parts.background.run(async (sql) => {
      const rows: { done: string }[] = await sql`
        SELECT history_created_expire(${this.parts.skewMs()}::BIGINT, ${STEP_STREAMS}::BIGINT, ${PRODUCER_KEPT_MS}::BIGINT,
          ${ENDED_KEPT_MS}::BIGINT) AS done`;
      return Number(rows[0]?.done ?? 0) > 0;
    }, this.parts.backgroundMs);

  /** The server may be another one by now. */
  leave(): void {
    this.writer.leave();
  }

  close(): Promise<void> {
    return this.writer.close();
  }

  private readSome({ spaceId, channel }: StreamName, range: Range | undefined): Promise<ReturnType<typeof readOf>> {
    return this.parts.reader.run(async (sql) => {
      const { after = null, before = null, upTo = null, limit = 0, maxBytes = 0, sinceMs = undefined } = range ?? {};
      const skew = this.parts.skewMs();
      // As an age: the server's clock gave the messages their times.
      const age = sinceMs === undefined ? null : systemClock.wallMs() + skew - sinceMs;
      const rows: Row<string | null>[] = await sql`
        SELECT pg_is_in_recovery() AS "isStandby", history_created_read(${spaceId}, ${channel}, ${skew}::BIGINT, ${range !== undefined},
          ${after}::BIGINT, ${before}::BIGINT, history_now(${skew}::BIGINT) - ${age}::BIGINT, ${upTo}::BIGINT, ${limit}::BIGINT,
          ${maxBytes}::BIGINT) AS value`;
      if (rows[0]?.isStandby) throw new StandbyAnswered("the server is a standby");
      return readOf(rows[0]?.value);
    });
  }

  private remove(
    connections: PostgresConnections,
    spaceId: SpaceId,
    channels: readonly string[],
    isForced: boolean,
  ): Promise<string | undefined> {
    return connections.run(async (sql) => {
      const rows: { state: string }[] = await sql`
        SELECT history_created_delete(${spaceId}, ${arrayLiteral(channels)}::TEXT[], ${this.parts.skewMs()}::BIGINT, ${isForced}) AS state`;
      return rows[0]?.state;
    });
  }

  private send(writer: string, generation: string, check: string, prepared: PreparedWrites): Promise<string | null> {
    const { streams, producers, writes, ids, messages } = prepared;
    const [apps, channels, keeps, keepsMs, begins, heldOf, heldApps] = streams;
    const [producerStreams, owners, pids] = producers;
    const [
      places,
      counts,
      listed,
      bytes,
      medias,
      malformed,
      closes,
      seqs,
      by,
      epochs,
      numbers,
      closers,
      streamMax,
      appMax,
    ] = writes;
    const [idStreams, scopes, mids] = ids;
    const [idsOf, senders, connections, metadatas, datas, sizes] = messages;
    return this.writer.run(async (sql) => {
      const rows: { result: string | null }[] = await sql`
        SELECT history_write(${writer}, ${generation}::BIGINT, ${check}, ${this.parts.skewMs()}::BIGINT,
          ${MESSAGE_ID_REMEMBERED_MS}::BIGINT, ${IDS_AHEAD_MAX_MS}::BIGINT, ${PRODUCERS_PER_OWNER_MAX}::BIGINT, ${PRODUCERS_MAX}::BIGINT,
          ${apps}::TEXT[], ${channels}::TEXT[], ${keeps}::BIGINT[], ${keepsMs}::BIGINT[], ${begins}::BOOLEAN[],
          ${heldOf}::BIGINT[], ${heldApps}::TEXT[], ${producerStreams}::BIGINT[], ${owners}::TEXT[], ${pids}::TEXT[],
          ${places}::BIGINT[], ${counts}::BIGINT[], ${listed}::BOOLEAN[], ${bytes}::BIGINT[], ${medias}::TEXT[], ${malformed}::BOOLEAN[],
          ${closes}::BOOLEAN[], ${seqs}::TEXT[], ${by}::BIGINT[], ${epochs}::BIGINT[], ${numbers}::BIGINT[], ${closers}::TEXT[],
          ${streamMax}::BIGINT[], ${appMax}::BIGINT[], ${idStreams}::BIGINT[], ${scopes}::TEXT[], ${mids}::TEXT[],
          ${idsOf}::BIGINT[], ${senders}::TEXT[], ${connections}::TEXT[], ${metadatas}::TEXT[], ${datas}::TEXT[], ${sizes}::BIGINT[]) AS result`;
      return rows[0]?.result ?? null;
    });
  }

  /** Histories that a write begins. */
  private begin({ begun }: PreparedWrites): Promise<unknown> {
    const [apps, channels, keeps, keepsMs] = begun;
    return this.writer.run(
      (sql) => sql`SELECT history_begin(${apps}::TEXT[], ${channels}::TEXT[], ${keeps}::BIGINT[], ${keepsMs}::BIGINT[],
        ${this.parts.skewMs()}::BIGINT)`,
    );
  }
}
