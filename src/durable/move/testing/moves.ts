/** For tests: moves between data folders and databases of a PostgreSQL server of the test file. */
import { afterAll, beforeAll } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { scratch } from "../../../../test/support/temp.ts";
import { openPostgresHistory } from "../../../history/postgres/history.ts";
import { StoreError } from "../../../store/contract/store.ts";
import { optionsOf } from "../../../store/engines/postgres.ts";
import { openMigrated } from "../../../store/open.ts";
import { PostgresServer } from "../../../store/testing/postgres.ts";
import { EmbeddedSide } from "../embedded-side.ts";
import { explained } from "../failures.ts";
import { type Move, type Moved, move, reopen } from "../move.ts";
import { PostgresSide } from "../postgres-side.ts";

export interface Places {
  /** An empty folder. */
  folder(): string;
  /** The URL of a new database, with empty tables. */
  database(): Promise<string>;
  /** The same without tables. */
  bareDatabase(): Promise<string>;
  /** The same, and texts are not ordered by their bytes. */
  englishDatabase(): Promise<string>;
}

/** Removed after the tests of the file. `isUsed`: otherwise nothing is started. */
export function places(isUsed = true): Places {
  const parent = scratch();
  let server: PostgresServer | undefined;
  let template: string;
  let folders = 0;
  const database = async (copyOf?: string): Promise<string> => {
    if (!server) throw new Error("there is no server");
    return server.newDatabase(copyOf);
  };
  beforeAll(async () => {
    if (!isUsed) return;
    server = await PostgresServer.start();
    template = await database();
    await (await openMigrated("", template)).close();
    await (await openPostgresHistory({ url: template })).close();
  });
  afterAll(async () => {
    await server?.stop();
    parent[Symbol.dispose]();
  });
  return {
    folder: () => {
      const path = join(parent.path, String(++folders));
      mkdirSync(path);
      return path;
    },
    database: () => database(template),
    bareDatabase: () => database(),
    englishDatabase: async () => {
      const name = `english_${++folders}`;
      await using sql = new SQL({ ...optionsOf(template), max: 1 });
      await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`);
      return server?.url(name) ?? "";
    },
  };
}

const notReplaced = async (holds: string): Promise<void> => {
  throw new StoreError(`it holds ${holds}`);
};

/** As the command does it. */
export async function run(way: "to" | "from", data: string, url: string, options: Partial<Move> = {}): Promise<Moved> {
  const embedded = await EmbeddedSide.open(data, way === "to" ? "source" : "target");
  try {
    const postgres = await PostgresSide.open(url);
    const [source, target] = way === "to" ? [embedded, postgres] : [postgres, embedded];
    try {
      const command = `parley move --${way} …`;
      return await move({ source, target, data, masterKey: "", command, replace: notReplaced, ...options });
    } catch (error) {
      throw explained(error, postgres.place);
    } finally {
      await postgres.close();
    }
  } finally {
    await embedded.close();
  }
}

/** Stops after that many rows. */
export function stopping(after: number): Partial<Move> {
  const stop = new AbortController();
  const progress = (_: string, __: string, rows: number): void => {
    if (rows >= after) stop.abort();
  };
  return { watch: { progress, signal: stop.signal } };
}

/** The text of the error. */
export const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "no failure",
    (error: unknown) => (error as Error).message,
  );

export const keyIn = (data: string): string => readFileSync(join(data, "master.key"), "utf8").trim();

export async function reopened(url: string): Promise<string | undefined> {
  const side = await PostgresSide.open(url);
  try {
    return await reopen(side);
  } finally {
    await side.close();
  }
}
