/**
 * PostgreSQL, by URL: a pool for the work, and two more connections for probes. The pool replaces connections that break. When the server
 * stops answering (a cut network, a frozen machine), a probe times out, and all connections are closed: statements that wait fail at
 * once instead of when the network gives up.
 *
 * After a failover the address leads to another server, but connections to the earlier one may stay open. So each look at the revisions also
 * asks which server answers: one that takes no changes is left for whatever the address leads to now, and a standby is not read, because what
 * it holds may be old.
 */
import { SQL } from "bun";
import { Problem } from "../../protocol/codes.ts";
import { StoreError, StoreReadOnly, StoreUnreachable } from "../contract/store.ts";
import type { Database, Servers, Work } from "./database.ts";
import { withoutStalePlans } from "./stale-plans.ts";

const POOL_CONNECTIONS = 10;
const PROBE_CONNECTIONS = 2;
const CONNECT_SECONDS = 3;
/** When the store is closed, statements under way have this long to end. */
const CLOSE_SECONDS = 5;
const PROBE_TIMEOUT_MS = 3000;
/** Longer than a probe: a snapshot reads all keys of all applications. */
const CONSISTENT_READ_TIMEOUT_MS = 10_000;
/** How long a start waits for PostgreSQL: with Docker Compose both start together, and PostgreSQL takes longer. */
const START_WAIT_MS = 10_000;
const START_RETRY_MS = 250;
/** How often connections to a server that takes no changes are replaced: the address may lead to another one by now. */
const LEAVE_EVERY_MS = 2000;
/** Second key of the lock that "parley move" holds while it works on a database. */
export const MOVE_LOCK = 2;
/** First key of our advisory locks, so that they do not collide with those of other programs on the server. "PRLY". */
export const LOCK_SPACE = 0x50524c59;

/** Settings of each connection. */
const SESSION = {
  // Not that of 0.1.0 (earlier-nodes.ts).
  application_name: "parley-store",
  statement_timeout: 15_000,
  // A node that freezes in the middle of a change must not block the others for longer.
  idle_in_transaction_session_timeout: 10_000,
  // Plan with the values at hand: a generic plan expects every value of a column to be equally common, and any LIMIT to be large.
  plan_cache_mode: "force_custom_plan",
};

/** The server takes no changes. */
const READ_ONLY = "25006";
/** Classes of SQLSTATE that mean "try later": connection, resources such as the disk, operator intervention, system. */
const UNREACHABLE = /^(08|53|57|58)/;
/** A text contains U+0000, which SQLite can store and PostgreSQL cannot. */
const NUL = "22021";
/** Errors that waiting does not fix: login, database name. */
const PERMANENT = /^(28|3D)/;

export async function openPostgres(url: string): Promise<Postgres> {
  const until = performance.now() + START_WAIT_MS;
  for (;;) {
    const database = new Postgres(url);
    try {
      await database.probe((sql) => sql`SELECT 1`);
      return database;
    } catch (error) {
      await database.close();
      const isPermanent = PERMANENT.test(stateOf(causeOf(error)));
      if (isPermanent || performance.now() > until)
        // The URL may contain a password, so the message has only host and database.
        throw new StoreError(`PARLEY_DATABASE_URL: PostgreSQL at ${placeOf(url)} ${connectProblem(error)}`);
      await Bun.sleep(START_RETRY_MS);
    }
  }
}

const ROLE = `CASE WHEN pg_is_in_recovery() THEN 'standby'
  WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only' ELSE 'primary' END`;

export class Postgres implements Database {
  readonly isShared = true;
  readonly servers: Servers = {
    columns: `pg_postmaster_start_time()::TEXT AS server, ${ROLE} AS role`,
    accept: (row) => this.accept(String(row?.server), String(row?.role)),
  };
  private pool: SQL;
  private prober: SQL;
  /** Locks that this node holds. Bound: their names, which are in the code. */
  private readonly locks = new Set<() => Promise<void>>();
  private isClosed = false;
  /** The server that the last look at the revisions came from. */
  private server: string | undefined;
  private isStandby = false;
  private leftMs = Number.NEGATIVE_INFINITY;
  private readonly options: SQL.PostgresOrMySQLOptions;

  constructor(url: string) {
    this.options = { ...optionsOf(url), connection: SESSION };
    [this.pool, this.prober] = this.connect();
  }

  run = <T>(work: Work<T>): Promise<T> => this.onPool(work);
  transaction = <T>(work: Work<T>): Promise<T> => this.onPool((pool) => pool.begin(work) as Promise<T>);
  // The server waits for its disk, and not this process.
  quickRun = this.run;
  quickTransaction = async <T>(work: Work<T>, committed?: (result: T) => void): Promise<T> => {
    const result = await this.transaction(work);
    committed?.(result);
    return result;
  };
  consistentRead = <T>(work: Work<T>): Promise<T> =>
    this.withTimeout(
      (sql) => sql.begin("isolation level repeatable read read only", (tx) => onPrimary(tx, work)) as Promise<T>,
      CONSISTENT_READ_TIMEOUT_MS,
    );
  probe = <T>(work: Work<T>): Promise<T> => this.withTimeout(work, PROBE_TIMEOUT_MS);

  private async onPool<T>(work: Work<T>): Promise<T> {
    if (this.isStandby) throw new StoreReadOnly(IS_STANDBY);
    try {
      const current = (): SQL => this.pool;
      return await mappingErrors(() => withoutStalePlans(current, () => this.reconnect(CLOSE_SECONDS), work));
    } catch (error) {
      if (error instanceof StoreReadOnly) this.leave();
      throw error;
    }
  }

  private accept(server: string, role: string): string {
    this.isStandby = role === "standby";
    if (role !== "primary") {
      this.leave();
      throw new StoreReadOnly(this.isStandby ? IS_STANDBY : "the server was made read-only");
    }
    const isOther = this.server !== undefined && this.server !== server;
    this.server = server;
    // Other connections may still lead to the one before.
    if (isOther) this.reconnect(CLOSE_SECONDS);
    return server;
  }

  /** Statements under way may end. */
  private leave(): void {
    if (performance.now() - this.leftMs < LEAVE_EVERY_MS) return;
    this.leftMs = performance.now();
    this.reconnect(CLOSE_SECONDS);
  }

  private async withTimeout<T>(work: Work<T>, maxMs: number): Promise<T> {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    let { prober } = this;
    const current = (): SQL => {
      prober = this.prober;
      return prober;
    };
    // No boundary: it catches what it throws.
    const timer = setTimeout(() => {
      reject(new StoreUnreachable(`it has not answered for ${maxMs / 1000} seconds`));
      try {
        // Statements on these connections would wait until the network gives up.
        if (prober === this.prober) this.reconnect(0);
      } catch {
        // An exception that leaves a timer would drain the node; the next timeout retries.
      }
    }, maxMs);
    try {
      const replace = (): void => this.reconnect(CLOSE_SECONDS);
      return await Promise.race([mappingErrors(() => withoutStalePlans(current, replace, work)), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The lock belongs to a connection of its own: closing it releases the lock, and so does the end of this process. */
  async lock(name: string): Promise<() => Promise<void>> {
    const sql = new SQL({ ...this.options, max: 1, connection: { ...SESSION, statement_timeout: 0 } });
    const release = async (): Promise<void> => {
      this.locks.delete(release);
      await sql.close({ timeout: 0 });
    };
    this.locks.add(release);
    try {
      await mappingErrors(() => sql`SELECT pg_advisory_lock(${LOCK_SPACE}::int, ${Bun.hash.crc32(name) | 0}::int)`);
      return release;
    } catch (error) {
      await release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const release of this.locks) await release();
    await Promise.all([this.pool.close({ timeout: CLOSE_SECONDS }), this.prober.close({ timeout: 0 })]);
  }

  /** Statements under way fail after this time. */
  private reconnect(afterSeconds: number): void {
    if (this.isClosed) return;
    for (const old of [this.pool, this.prober]) old.close({ timeout: afterSeconds }).catch(() => undefined);
    [this.pool, this.prober] = this.connect();
  }

  private connect(): [pool: SQL, prober: SQL] {
    return [new SQL({ ...this.options, max: POOL_CONNECTIONS }), new SQL({ ...this.options, max: PROBE_CONNECTIONS })];
  }
}

const IS_STANDBY = "the server is a standby, so it is read-only";

/** How to connect to the database that a URL names. */
export const optionsOf = (url: string): SQL.PostgresOrMySQLOptions => ({
  url,
  // Otherwise Bun prefers PGDATABASE to the database in the URL.
  ...(databaseOf(url) && { database: databaseOf(url) }),
  connectionTimeout: CONNECT_SECONDS,
});

/** Held until the transaction ends: when several nodes start at once, one migrates, and the others find it done. */
export const lockForMigrations = async (tx: SQL): Promise<void> => {
  await tx`SET LOCAL statement_timeout = 0`;
  await tx`SELECT pg_advisory_xact_lock(${LOCK_SPACE}::int, 0::int)`;
};

/** What a standby holds may be old: all keys would be replaced by earlier ones. */
async function onPrimary<T>(tx: SQL, work: Work<T>): Promise<T> {
  const rows: { standby: boolean }[] = await tx`SELECT pg_is_in_recovery() AS standby`;
  if (rows[0]?.standby) throw new StoreReadOnly(IS_STANDBY);
  return work(tx);
}

/** Turns errors of an unreachable server, and errors that the caller caused, into those of the contract. */
async function mappingErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (stateOf(error) === READ_ONLY) throw new StoreReadOnly(reasonOf(error), { cause: error });
    if (isUnreachable(error)) throw new StoreUnreachable(reasonOf(error), { cause: error });
    if (stateOf(error) === NUL) throw new Problem("invalid_request", "A text must not hold the character U+0000.");
    throw error;
  }
}

export const isUnreachable = (error: unknown): boolean =>
  error instanceof SQL.PostgresError && (UNREACHABLE.test(stateOf(error)) || /CONNECTION|TIMEOUT/.test(error.code));

/** The SQLSTATE; "" for errors that do not come from the server. */
export const stateOf = (error: unknown): string =>
  error instanceof SQL.PostgresError && error.errno !== undefined ? String(error.errno) : "";

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Without a cause, a probe has timed out. */
const causeOf = (error: unknown): unknown => (error instanceof StoreUnreachable ? (error.cause ?? error) : error);

/** Why a connection could not be made, for people. A server that is down and one that refuses are repaired in different places. */
export function connectProblem(error: unknown): string {
  const cause = causeOf(error);
  if (/^28/.test(stateOf(cause))) return `refuses the login: ${reasonOf(cause)}`;
  const isDown = cause instanceof StoreUnreachable || (isUnreachable(cause) && stateOf(cause) === "");
  return isDown
    ? `cannot be reached (${reasonOf(cause)}): start it, or correct the address`
    : `refuses the connection: ${reasonOf(cause)}`;
}

const databaseOf = (url: string): string | undefined => {
  const name = URL.parse(url)?.pathname.slice(1);
  return name ? decodeURIComponent(name) : undefined;
};

/** The URL without its user and password. */
export function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.host}${parsed.pathname}` : "that address";
}
