/**
 * Stores batches of a writer, one at a time, and finds out what became of one that was not answered. A writer has a generation, and a
 * batch is stored only under the current one. When a batch was not answered, the generation is raised: that waits for the batch if
 * it is being stored, and keeps it out if it still lies in a buffer. After that its fate is known.
 */
import { HistoryUnavailable } from "../../contract/history.ts";
import type { PostgresConnections } from "./connections.ts";

/** A batch is sent again when one of its streams is new, or was removed at the same moment. */
const TRIES_MAX = 10;

interface WriterRow {
  readonly generation: string;
  readonly batch: string | null;
  readonly result: string | null;
}

export interface Sending {
  readonly check: string;
  /** The result; `null` if the generation is not the writer's, an empty text if streams are missing. */
  readonly send: (writer: string, generation: string) => Promise<string | null>;
  /** Creates the streams that are missing. */
  readonly begin: () => Promise<unknown>;
}

export class WriterFence {
  private writer: string | undefined;
  private generation: string | undefined;
  /** The batch whose fate is not known. */
  private unsettled: string | undefined;
  /** A batch that finds this raised has been settled, and must not be sent again. */
  private settles = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly connections: PostgresConnections,
    /** The application name of the connections, which no others have. */
    private readonly name: string,
    private readonly skewMs: () => number,
  ) {}

  /** One batch at a time: the store remembers the result of the last one only. */
  store(writer: string, sending: Sending): Promise<string> {
    const stored = this.last.then(() => this.storeNow(writer, sending));
    this.last = stored.catch(() => undefined);
    return stored;
  }

  private async storeNow(writer: string, { check, send, begin }: Sending): Promise<string> {
    if (this.unsettled !== undefined && this.unsettled !== check)
      throw new HistoryUnavailable("the fate of an earlier batch is not known yet");
    this.unsettled = check;
    const { settles } = this;
    let generation = (this.writer === writer ? this.generation : undefined) ?? (await this.raise(writer)).generation;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (settles !== this.settles) break;
      this.writer = writer;
      this.generation = generation;
      const result = await send(writer, generation);
      // A writer that has not written for a day is forgotten.
      if (result === null) generation = (await this.raise(writer)).generation;
      if (result === "") await begin();
      if (!result) continue;
      if (this.unsettled === check) this.unsettled = undefined;
      return result;
    }
    throw new HistoryUnavailable("the batch was not accepted");
  }

  /** The result of the batch; `undefined` if it is not stored, and never will be. */
  async settle(writer: string, check: string): Promise<string | undefined> {
    // What is still under way is given up.
    this.settles++;
    this.generation = undefined;
    this.connections.replace();
    const row = await this.raise(writer);
    this.writer = writer;
    this.generation = row.generation;
    if (this.unsettled === check) this.unsettled = undefined;
    return row.batch === check && row.result !== null ? row.result : undefined;
  }

  /** Raises the generation. A new writer begins at a random one, so that a batch of a forgotten writer never fits. */
  private raise(writer: string): Promise<WriterRow> {
    const first = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
    return this.connections.run(async (sql) => {
      // A backend whose client is gone may not have noticed, and would hold its locks.
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = ${this.name} AND pid <> pg_backend_pid() AND usename = current_user`;
      const rows: WriterRow[] = await sql`
        INSERT INTO history_writers AS w (id, generation, used) VALUES (${writer}, ${first}::BIGINT, history_now(${this.skewMs()}::BIGINT))
          ON CONFLICT (id) DO UPDATE SET generation = w.generation + 1, used = excluded.used
          RETURNING generation::TEXT AS generation, batch, result`;
      const [row] = rows;
      if (!row) throw new HistoryUnavailable("the writer was not registered");
      return row;
    });
  }
}
