/** Appends batches to PostgreSQL. Each process is a writer: see fence.ts. */
import { randomUUID } from "node:crypto";
import type { SQL } from "bun";
import { MESSAGE_ID_REMEMBERED_MS } from "../../protocol/limits.ts";
import type { Appended, Batch } from "../contract/history.ts";
import { IDS_AHEAD_MAX_MS } from "../contract/limits.ts";
import { type Prepared, prepare, resultsOf } from "./server/batch.ts";
import { PostgresConnections } from "./server/connections.ts";
import { WriterFence } from "./server/fence.ts";

export class PostgresWriter {
  private readonly id = randomUUID();
  private readonly connections: PostgresConnections;
  private readonly fence: WriterFence;

  constructor(
    options: SQL.PostgresOrMySQLOptions,
    private readonly skewMs: () => number,
    answerMs: number | undefined,
    onReadOnly: () => void,
  ) {
    const name = `parley-history-${this.id}`;
    const connection = { ...options.connection, application_name: name };
    this.connections = new PostgresConnections({ ...options, connection }, 1, answerMs, onReadOnly);
    this.fence = new WriterFence(this.connections, name, skewMs);
  }

  async append(batch: Batch): Promise<readonly Appended[]> {
    if (batch.messages.length === 0) return [];
    const prepared = prepare(batch);
    const json = await this.fence.store(this.id, {
      check: batch.check,
      send: (_, generation) => this.send(generation, batch.check, prepared),
      begin: () => this.begin(prepared),
    });
    return resultsOf(prepared, batch.check, json);
  }

  async settle(batch: Batch): Promise<readonly Appended[] | undefined> {
    const json = await this.fence.settle(this.id, batch.check);
    return json === undefined ? undefined : resultsOf(prepare(batch), batch.check, json);
  }

  /** The server may be another one by now. */
  leave(): void {
    this.connections.leave();
  }

  close(): Promise<void> {
    return this.connections.close();
  }

  private send(generation: string, check: string, { streams, messages }: Prepared): Promise<string | null> {
    const [apps, channels, keeps, keepsMs] = streams;
    const [places, senders, connections, mids, scopes, metadatas, datas, sizes] = messages;
    return this.connections.run(async (sql) => {
      const rows: { result: string | null }[] = await sql`
        SELECT history_append_2(${this.id}, ${generation}::BIGINT, ${check}, ${this.skewMs()}::BIGINT,
          ${MESSAGE_ID_REMEMBERED_MS}::BIGINT, ${IDS_AHEAD_MAX_MS}::BIGINT,
          ${apps}::TEXT[], ${channels}::TEXT[], ${keeps}::BIGINT[], ${keepsMs}::BIGINT[], ${places}::BIGINT[],
          ${senders}::TEXT[], ${connections}::TEXT[], ${mids}::TEXT[], ${scopes}::TEXT[], ${metadatas}::TEXT[],
          ${datas}::TEXT[], ${sizes}::BIGINT[]) AS result`;
      return rows[0]?.result ?? null;
    });
  }

  private begin({ streams }: Prepared): Promise<unknown> {
    const [apps, channels, keeps, keepsMs] = streams;
    return this.connections.run(
      (sql) => sql`SELECT history_begin(${apps}::TEXT[], ${channels}::TEXT[], ${keeps}::BIGINT[], ${keepsMs}::BIGINT[],
        ${this.skewMs()}::BIGINT)`,
    );
  }
}
