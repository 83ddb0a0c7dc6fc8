/**
 * Appends batches to PostgreSQL. Each process is a writer with a generation, and a batch is stored only under the current one. When
 * a batch was not answered, the generation is raised: that waits for the batch if it is being stored, and keeps it out if it still
 * lies in a buffer. After that its fate is known.
 */
import { randomUUID } from "node:crypto";
import type { SQL } from "bun";
import { MESSAGE_ID_REMEMBERED_MS } from "../../protocol/limits.ts";
import { type Appended, type Batch, HistoryUnavailable } from "../contract/history.ts";
import { IDS_AHEAD_MAX_MS } from "../contract/limits.ts";
import { type Prepared, prepare, resultsOf } from "./batch.ts";
import { PostgresConnections } from "./connections.ts";

/** A batch is sent again when one of its streams is new, or was removed at the same moment. */
const TRIES_MAX = 10;

interface WriterRow {
  readonly generation: string;
  readonly batch: string | null;
  readonly result: string | null;
}

export class PostgresWriter {
  private readonly id = randomUUID();
  private readonly name = `parley-history-${this.id}`;
  private readonly connections: PostgresConnections;
  private generation: string | undefined;
  /** The batch whose fate is not known. */
  private unsettled: string | undefined;
  /** An append that finds this raised has been settled, and must not send its batch again. */
  private settles = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    options: SQL.PostgresOrMySQLOptions,
    private readonly skewMs: () => number,
    answerMs: number | undefined,
    onReadOnly: () => void,
  ) {
    const connection = { ...options.connection, application_name: this.name };
    this.connections = new PostgresConnections({ ...options, connection }, 1, answerMs, onReadOnly);
  }

  /** One batch at a time: the store remembers the result of the last one only. */
  append(batch: Batch): Promise<readonly Appended[]> {
    const appended = this.last.then(() => this.appendNow(batch));
    this.last = appended.catch(() => undefined);
    return appended;
  }

  private async appendNow(batch: Batch): Promise<readonly Appended[]> {
    if (this.unsettled !== undefined && this.unsettled !== batch.check)
      throw new HistoryUnavailable("the fate of an earlier batch is not known yet");
    if (batch.messages.length === 0) return [];
    this.unsettled = batch.check;
    const { settles } = this;
    const prepared = prepare(batch);
    this.generation ??= (await this.raise()).generation;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (settles !== this.settles) break;
      const json = await this.send(batch.check, prepared);
      // A writer that has not written for a day is forgotten.
      if (json === null) this.generation = (await this.raise()).generation;
      if (json === "") await this.begin(prepared);
      if (!json) continue;
      if (this.unsettled === batch.check) this.unsettled = undefined;
      return resultsOf(prepared, batch.check, json);
    }
    throw new HistoryUnavailable("the batch was not accepted");
  }

  async settle(batch: Batch): Promise<readonly Appended[] | undefined> {
    // What is still under way is given up.
    this.settles++;
    this.generation = undefined;
    this.connections.replace();
    const row = await this.raise();
    this.generation = row.generation;
    if (this.unsettled === batch.check) this.unsettled = undefined;
    return row.batch === batch.check && row.result !== null
      ? resultsOf(prepare(batch), batch.check, row.result)
      : undefined;
  }

  /** The server may be another one by now. */
  leave(): void {
    this.connections.leave();
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private send(check: string, { streams, messages }: Prepared): Promise<string | null> {
    const [apps, channels, keeps, keepsMs] = streams;
    const [places, senders, connections, mids, scopes, metadatas, datas, sizes] = messages;
    return this.connections.run(async (sql) => {
      const rows: { result: string | null }[] = await sql`
        SELECT history_append_2(${this.id}, ${this.generation}::BIGINT, ${check}, ${this.skewMs()}::BIGINT,
          ${MESSAGE_ID_REMEMBERED_MS}::BIGINT, ${IDS_AHEAD_MAX_MS}::BIGINT,
          ${apps}::TEXT[], ${channels}::TEXT[], ${keeps}::BIGINT[], ${keepsMs}::BIGINT[], ${places}::BIGINT[],
          ${senders}::TEXT[], ${connections}::TEXT[], ${mids}::TEXT[], ${scopes}::TEXT[], ${metadatas}::TEXT[],
          ${datas}::TEXT[], ${sizes}::BIGINT[]) AS result`;
      return rows[0]?.result ?? null;
    });
  }

  /** Creates the streams that are missing. */
  private begin({ streams }: Prepared): Promise<unknown> {
    const [apps, channels, keeps, keepsMs] = streams;
    return this.connections.run(
      (sql) => sql`SELECT history_begin(${apps}::TEXT[], ${channels}::TEXT[], ${keeps}::BIGINT[], ${keepsMs}::BIGINT[],
        ${this.skewMs()}::BIGINT)`,
    );
  }

  /** Raises the generation. A new writer begins at a random one, so that a batch of a forgotten writer never fits. */
  private raise(): Promise<WriterRow> {
    const first = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
    return this.connections.run(async (sql) => {
      // A backend whose client is gone may not have noticed, and would hold its locks.
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = ${this.name} AND pid <> pg_backend_pid() AND usename = current_user`;
      const rows: WriterRow[] = await sql`
        INSERT INTO history_writers AS w (id, generation, used) VALUES (${this.id}, ${first}::BIGINT, history_now(${this.skewMs()}::BIGINT))
          ON CONFLICT (id) DO UPDATE SET generation = w.generation + 1, used = excluded.used
          RETURNING generation::TEXT AS generation, batch, result`;
      const [row] = rows;
      if (!row) throw new HistoryUnavailable("the writer was not registered");
      return row;
    });
  }
}
