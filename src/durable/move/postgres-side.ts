/** PostgreSQL: the durable state and the history are in one database. An advisory lock keeps nodes from starting on it meanwhile. */
import { SQL } from "bun";
import { openPostgresHistory } from "../../history/postgres/history.ts";
import { postgresHistorySchema } from "../../history/postgres/schema.ts";
import { StoreError } from "../../store/contract/store.ts";
import { connectProblem, LOCK_SPACE, MOVE_LOCK, optionsOf, placeOf } from "../../store/engines/postgres.ts";
import { schemaVersion } from "../../store/migrate.ts";
import { INCOMPLETE_NOTE, type IncompleteNote, MOVE_NOTES } from "../../store/moves.ts";
import { openMigrated } from "../../store/open.ts";
import { PostgresTables } from "./postgres-tables.ts";
import { hasTable, putNote, removeNotes, type Side } from "./side.ts";
import { refuseUsers } from "./users.ts";

const SESSION = {
  application_name: "parley-move",
  statement_timeout: 0,
  // A page may take long to write on the other side.
  idle_in_transaction_session_timeout: 0,
  // What a crash of the server loses is found by the next run; `settle` waits for the disk.
  synchronous_commit: "off",
};

/** A run that was killed holds its lock until the server notices. */
const LOCK_WAIT_MS = 10_000;
const LOCK_RETRY_MS = 250;

export class PostgresSide implements Side {
  readonly engine = "postgres";
  readonly place: string;
  readonly store: PostgresTables;
  schema = 0;

  private constructor(
    private readonly url: string,
    private readonly reader: SQL,
    private readonly writer: SQL,
  ) {
    this.place = `PostgreSQL at ${placeOf(url)}`;
    this.store = new PostgresTables(reader, writer);
  }

  static async open(url: string): Promise<PostgresSide> {
    const connect = (): SQL =>
      new SQL({ ...optionsOf(url), connection: SESSION, max: 1, idleTimeout: 0, maxLifetime: 0 });
    const side = new PostgresSide(url, connect(), connect());
    try {
      await side.connect();
      await side.lock();
      side.schema = await side.versionIn("migrations");
      return side;
    } catch (error) {
      await side.close();
      throw error;
    }
  }

  get history(): PostgresTables {
    return this.store;
  }

  async upgrade(): Promise<void> {
    if (this.schema !== schemaVersion()) await (await openMigrated("", this.url)).close();
    if ((await this.versionIn("history_migrations")) !== postgresHistorySchema())
      await (await openPostgresHistory({ url: this.url })).close();
    this.schema = await this.versionIn("migrations");
  }

  lookAnew(): Promise<void> {
    return this.store.lookAnew();
  }

  mark(note: IncompleteNote): Promise<void> {
    return putNote(this, INCOMPLETE_NOTE, JSON.stringify(note));
  }

  async settle(): Promise<void> {
    await this.writer.unsafe("SET synchronous_commit = on");
    // The commit of a change waits for the log, which has everything before it.
    await this.writer.unsafe("UPDATE revisions SET revision = revision");
  }

  unmark(): Promise<void> {
    return removeNotes(this, MOVE_NOTES);
  }

  async refuseUsers(): Promise<void> {
    await refuseUsers(this.writer, this.place, await hasTable(this, "meeting_nodes"));
  }

  async close(): Promise<void> {
    await Promise.all([this.reader.close({ timeout: 0 }), this.writer.close({ timeout: 0 })]);
  }

  private async connect(): Promise<void> {
    let facts: { encoding: string; role: string }[];
    try {
      facts = await this.writer`
        SELECT current_setting('server_encoding') AS encoding, CASE WHEN pg_is_in_recovery() THEN 'is a standby'
          WHEN current_setting('transaction_read_only') = 'on' THEN 'is read-only' ELSE '' END AS role`;
      await this.reader`SELECT 1`;
    } catch (error) {
      throw new StoreError(`${this.place} ${connectProblem(error)}`, { cause: error });
    }
    const { encoding = "", role = "" } = facts[0] ?? {};
    if (role !== "") throw new StoreError(`${this.place} ${role}: use the primary`);
    if (encoding !== "UTF8")
      throw new StoreError(
        `the database of ${this.place} has the encoding ${encoding}, which cannot hold every text: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
      );
  }

  private async lock(): Promise<void> {
    const untilMs = performance.now() + LOCK_WAIT_MS;
    for (;;) {
      const rows: { isHeld: boolean }[] = await this.writer`
        SELECT pg_try_advisory_lock(${LOCK_SPACE}::INT, ${MOVE_LOCK}::INT) AS "isHeld"`;
      if (rows[0]?.isHeld) return;
      if (performance.now() > untilMs)
        throw new StoreError(`another "parley move" is working on ${this.place}: wait for it to finish`);
      await Bun.sleep(LOCK_RETRY_MS);
    }
  }

  /** 0: there is no such table. */
  private async versionIn(table: string): Promise<number> {
    return (await hasTable(this, table)) ? Number(await this.store.value(`SELECT MAX(version) FROM ${table}`)) : 0;
  }
}
