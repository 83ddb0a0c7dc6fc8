/** How much the store holds, on SQL. Nothing here reads more than COUNTED_ROWS rows of a table. */
import type { AppId } from "../../base/ids.ts";
import { otherWork } from "../../base/other-work.ts";
import { type Amount, type AmountStore, COUNTED_ROWS } from "../contract/amounts.ts";
import type { Database } from "../engines/database.ts";
import type { DbRow } from "../engines/rows.ts";

/** Numbers that the store keeps anyway, for tables that have very many rows. */
const KEPT_NUMBERS: Readonly<Record<string, string>> = {
  recordings: "SELECT COALESCE(SUM(live), 0) AS n FROM recording_counters",
  meetings: "SELECT COALESCE(SUM(meetings), 0) AS n FROM meeting_counters WHERE room = ''",
};

/** Where the rows of an application are, each found by an index; `$1` is the application. */
const OF_APP: Readonly<Record<string, string>> = {
  apps: "apps WHERE id = $1",
  keys: "keys WHERE app = $1",
  usage: "usage WHERE app = $1",
  blocks: "blocks WHERE app = $1",
  audit: "audit WHERE app = $1",
  rooms: `(SELECT 1 FROM rooms WHERE app = $1 AND archived IS NULL
    UNION ALL SELECT 1 FROM rooms WHERE app = $1 AND archived IS NOT NULL) AS both_kinds`,
  uploads: "uploads WHERE app = $1 AND ended IS NULL",
  deleted_recordings: "deleted_recordings WHERE app = $1",
  lobby_tickets: "lobby_tickets WHERE app = $1",
  webhooks: "webhooks WHERE app = $1",
};

const KEPT_NUMBERS_OF_APP: Readonly<Record<string, string>> = {
  recordings: "SELECT COALESCE(SUM(live), 0) AS n FROM recording_counters WHERE app = $1",
  meetings: "SELECT COALESCE(SUM(meetings), 0) AS n FROM meeting_counters WHERE app = $1 AND room = ''",
};

/** Names become part of statements. */
const TABLE = /^[a-z_]+$/;

export class SqlAmounts implements AmountStore {
  constructor(
    private readonly database: Database,
    private readonly countedRows = COUNTED_ROWS,
  ) {}

  async ofTables(names: readonly string[]): Promise<ReadonlyMap<string, Amount>> {
    const known = this.database.isShared ? await this.pagesOf(names) : new Map<string, Amount>();
    const amounts = new Map<string, Amount>();
    for (const name of names) {
      checkName(name);
      amounts.set(name, await this.ofTable(name, known.get(name)));
      await otherWork();
    }
    return amounts;
  }

  /** `known`: what PostgreSQL says about its size. */
  private async ofTable(name: string, known: Amount | undefined): Promise<Amount> {
    const bytes = known?.bytes === undefined ? {} : { bytes: known.bytes };
    const kept = KEPT_NUMBERS[name];
    if (kept !== undefined) return { count: await this.number(kept), isAbout: false, ...bytes };
    if (known && known.count > this.countedRows) return known;
    const count = await this.number(
      `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${name} LIMIT ${this.countedRows + 1}) AS counted`,
    );
    if (count <= this.countedRows) return { count, isAbout: false, ...bytes };
    // A table that was never analysed has no number yet.
    if (known) return { ...known, count: Math.max(known.count, count) };
    return { count: await this.rowidsOf(name), isAbout: true };
  }

  /** Rows that were removed in between count too: it is right for tables that lose their oldest rows. Two lookups at the ends of the table. */
  private rowidsOf(name: string): Promise<number> {
    return this.number(`SELECT (SELECT MAX(rowid) FROM ${name}) - (SELECT MIN(rowid) FROM ${name}) + 1 AS n`);
  }

  /** From the catalogue of PostgreSQL, whose numbers of rows are as old as the last VACUUM or ANALYZE. */
  private async pagesOf(names: readonly string[]): Promise<Map<string, Amount>> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT relname AS name, reltuples::BIGINT AS n, pg_total_relation_size(oid) AS bytes FROM pg_class
        WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname IN ${sql([...names])}`,
    );
    return new Map(
      rows.map(({ name, n, bytes }) => [String(name), { count: Number(n), isAbout: true, bytes: Number(bytes) }]),
    );
  }

  async ofApp(app: AppId, names: readonly string[]): Promise<ReadonlyMap<string, Amount>> {
    const amounts = new Map<string, Amount>();
    for (const name of names) {
      const [kept, rows] = [KEPT_NUMBERS_OF_APP[name], OF_APP[name]];
      if (kept !== undefined) amounts.set(name, { count: await this.number(kept, app), isAbout: false });
      else if (rows !== undefined) {
        const counted = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${rows} LIMIT ${this.countedRows + 1}) AS counted`;
        const count = await this.number(counted, app);
        amounts.set(name, { count: Math.min(count, this.countedRows), isAbout: count > this.countedRows });
      } else throw new Error(`rows of an application cannot be counted in ${name}`);
      await otherWork();
    }
    return amounts;
  }

  recordedBytes(): Promise<number> {
    return this.number("SELECT COALESCE(SUM(bytes), 0) AS n FROM recording_counters");
  }

  async bytes(): Promise<number> {
    if (this.database.isShared) return this.number("SELECT pg_database_size(current_database()) AS n");
    const [pages, size] = [await this.pragma("page_count"), await this.pragma("page_size")];
    return pages * size;
  }

  private async pragma(name: string): Promise<number> {
    const rows: DbRow[] = await this.database.run((sql) => sql.unsafe(`PRAGMA ${name}`));
    return Number(Object.values(rows[0] ?? {})[0] ?? 0);
  }

  private async number(statement: string, app?: AppId): Promise<number> {
    const rows: DbRow[] = await this.database.run((sql) => sql.unsafe(statement, app === undefined ? [] : [app]));
    return Number(rows[0]?.n ?? 0);
  }
}

function checkName(name: string): void {
  if (!TABLE.test(name)) throw new Error(`${name} is not the name of a table`);
}
