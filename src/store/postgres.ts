/**
 * PostgreSQL, by URL: a pool for the work, and beside it a connection or two that feel the pulse. Connections that break are
 * made anew by the pool; when the server falls silent (a cut line, a frozen machine), the pulse notices, and everything that
 * waits is ended instead of waiting on.
 */
import { SQL } from "bun";
import { Problem } from "../protocol/codes.ts";
import type { Database, Work } from "./database.ts";
import { StoreAway, StoreError } from "./store.ts";

const POOL_CONNECTIONS = 10;
const FEELER_CONNECTIONS = 2;
const CONNECT_SECONDS = 3;
/** What is under way may end. */
const CLOSE_SECONDS = 5;
const PULSE_MAX_MS = 3000;
/** All keys of all applications. */
const MOMENT_MAX_MS = 10_000;
/** Containers of one file start together: PostgreSQL may need a moment longer than we do. */
const START_WAIT_MS = 10_000;
const START_AGAIN_MS = 250;
/** Any number will do, as long as nobody else on this server takes it for locks of its own. "PRLY". */
const LOCK_SPACE = 0x50524c59;

/** What each connection asks of the server. */
const SESSION = {
  application_name: "parley",
  statement_timeout: 15_000,
  // A node that freezes in the middle of a change must not hold up the others for longer.
  idle_in_transaction_session_timeout: 10_000,
  // Plan with the values at hand: a generic plan expects every value of a column to be equally common, and any LIMIT to be large.
  plan_cache_mode: "force_custom_plan",
};

/** Classes and codes of SQLSTATE for "not now": connection, resources, operator's intervention, a standby. */
const AWAY = /^(08|53(?!100)|57|58|25006)/;
/** U+0000 in a text: SQLite keeps it, PostgreSQL has no place for it. */
const NUL = "22021";
/** What no waiting cures: login, database name. */
const HOPELESS = /^(28|3D)/;

export async function openPostgres(url: string): Promise<Postgres> {
  const until = performance.now() + START_WAIT_MS;
  for (;;) {
    const database = new Postgres(url);
    try {
      await database.pulse((sql) => sql`SELECT 1`);
      return database;
    } catch (error) {
      await database.close();
      const cause = error instanceof StoreAway ? error.cause : error;
      const isHopeless = HOPELESS.test(stateOf(cause));
      if (isHopeless || performance.now() > until)
        // The address may hold a credential: only where it leads is shown.
        throw new StoreError(
          `PARLEY_DATABASE_URL: PostgreSQL at ${placeOf(url)} does not let us in: ${reasonOf(cause)}`,
        );
      await Bun.sleep(START_AGAIN_MS);
    }
  }
}

export class Postgres implements Database {
  readonly isShared = true;
  private pool: SQL;
  private feeler: SQL;
  private readonly claims = new Set<() => Promise<void>>();
  private isClosed = false;
  private readonly options: SQL.PostgresOrMySQLOptions;

  constructor(url: string) {
    this.options = {
      url,
      // Or Bun would let PGDATABASE win over what the address says.
      ...(databaseOf(url) && { database: databaseOf(url) }),
      connectionTimeout: CONNECT_SECONDS,
      connection: SESSION,
    };
    [this.pool, this.feeler] = this.connect();
  }

  run = <T>(work: Work<T>): Promise<T> => answered(() => work(this.pool));
  transaction = <T>(work: Work<T>): Promise<T> => answered(() => this.pool.begin(work) as Promise<T>);
  moment = <T>(work: Work<T>): Promise<T> =>
    this.felt((sql) => sql.begin("isolation level repeatable read read only", work) as Promise<T>, MOMENT_MAX_MS);
  pulse = <T>(work: Work<T>): Promise<T> => this.felt(work, PULSE_MAX_MS);

  private async felt<T>(work: Work<T>, maxMs: number): Promise<T> {
    const { promise: silence, reject } = Promise.withResolvers<never>();
    const asked = this.feeler;
    const timer = setTimeout(() => {
      reject(new StoreAway(`it has not answered for ${maxMs / 1000} seconds`));
      try {
        // Whatever waits on these connections would wait for as long as the network lets it.
        if (asked === this.feeler) this.renew();
      } catch {
        // Out of a timer it would drain the node; the next silence tries again.
      }
    }, maxMs);
    try {
      return await Promise.race([answered(() => work(asked)), silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A connection of its own: closing it lets go, and so does the end of this process. */
  async claim(name: string): Promise<() => Promise<void>> {
    const sql = new SQL({ ...this.options, max: 1, connection: { ...SESSION, statement_timeout: 0 } });
    const release = async (): Promise<void> => {
      this.claims.delete(release);
      await sql.close({ timeout: 0 });
    };
    this.claims.add(release);
    try {
      await answered(() => sql`SELECT pg_advisory_lock(${LOCK_SPACE}::int, ${Bun.hash.crc32(name) | 0}::int)`);
      return release;
    } catch (error) {
      await release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const release of this.claims) await release();
    await Promise.all([this.pool.close({ timeout: CLOSE_SECONDS }), this.feeler.close({ timeout: 0 })]);
  }

  private renew(): void {
    if (this.isClosed) return;
    for (const old of [this.pool, this.feeler]) old.close({ timeout: 0 }).catch(() => undefined);
    [this.pool, this.feeler] = this.connect();
  }

  private connect(): [pool: SQL, feeler: SQL] {
    return [new SQL({ ...this.options, max: POOL_CONNECTIONS }), new SQL({ ...this.options, max: FEELER_CONNECTIONS })];
  }
}

/** Held for one transaction: of several nodes that start at once, one migrates, and the others then find it done. */
export const lockForMigrations = async (tx: SQL): Promise<void> => {
  await tx`SET LOCAL statement_timeout = 0`;
  await tx`SELECT pg_advisory_xact_lock(${LOCK_SPACE}::int, 0::int)`;
};

/** Tells "it is away", and what is the caller's fault, from what else it has to say about a statement. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isAway(error)) throw new StoreAway(reasonOf(error), { cause: error });
    if (stateOf(error) === NUL) throw new Problem("invalid_request", "A text must not hold the character U+0000.");
    throw error;
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof SQL.PostgresError && (AWAY.test(stateOf(error)) || /CONNECTION|TIMEOUT/.test(error.code));

/** SQLSTATE; "" where the server has not said anything. */
const stateOf = (error: unknown): string =>
  error instanceof SQL.PostgresError && error.errno !== undefined ? String(error.errno) : "";

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const databaseOf = (url: string): string | undefined => {
  const name = URL.parse(url)?.pathname.slice(1);
  return name ? decodeURIComponent(name) : undefined;
};

function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.host}${parsed.pathname}` : "that address";
}
