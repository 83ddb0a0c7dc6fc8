/**
 * `parley move` is killed with SIGKILL at random moments, in both directions: running it again completes it, everything is there, and there are never two
 * stores that a server would start on. A full disk ends it in the same way.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { dumpFolder } from "../../src/durable/move/testing/dump.ts";
import { seed } from "../../src/durable/move/testing/seed.ts";
import { refuseMoves } from "../../src/store/moves.ts";
import { openMigrated, sqliteFile } from "../../src/store/open.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { NO_RUNTIME_FOLDER, parleyCommand } from "../support/command.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";

const KILLS = IS_FULL ? 200 : 1;
const MESSAGES = IS_FULL ? 2000 : 100;
const ROWS = IS_FULL ? 300 : 20;
/** A run that is this long complete is killed within it. */
const FIRST_MAX_MS = 1000;
/** What `ulimit -f` counts. */
const BLOCK_BYTES = 512;

setDefaultTimeout(60_000 + KILLS * 10_000);

let server: PostgresServer;
const folder = scratch();
const first = join(folder.path, "first");
let key: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  mkdirSync(first);
  await seed(first, ROWS, MESSAGES);
  key = readFileSync(join(first, "master.key"), "utf8").trim();
});
afterAll(async () => {
  await server.stop();
  folder[Symbol.dispose]();
});

interface Ended {
  /** undefined: it was killed. */
  readonly code: number | undefined;
  readonly stderr: string;
  readonly ms: number;
}

/** `killMs`: it is killed after that time, unless it has ended. */
async function run(args: readonly string[], killMs?: number, wrap: readonly string[] = []): Promise<Ended> {
  const beganMs = performance.now();
  const env = { PATH: process.env.PATH ?? "", XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER, PARLEY_MASTER_KEY: key };
  const child = Bun.spawn([...wrap, ...parleyCommand("move", ...args)], { env, stdio: ["ignore", "ignore", "pipe"] });
  const timer = killMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killMs);
  const stderr = await new Response(child.stderr).text();
  await child.exited;
  clearTimeout(timer);
  return { code: child.signalCode ? undefined : (child.exitCode ?? -1), stderr, ms: performance.now() - beganMs };
}

/** How many applications the store has; undefined if a server would not start on it. */
async function usable(data: string, url: string): Promise<number | undefined> {
  const database = await openMigrated(data, url);
  try {
    await refuseMoves(database);
    const rows: { apps: number }[] = await database.run((sql) => sql`SELECT COUNT(*) AS apps FROM apps`);
    return Number(rows[0]?.apps);
  } catch (error) {
    expect((error as Error).message).toMatch(/^this store (is an incomplete copy|was moved)/);
    return undefined;
  } finally {
    await database.close();
  }
}

test(`${KILLS} kills lose nothing, and leave no two stores that start`, async () => {
  const before = dumpFolder(first);
  const url = await server.newDatabase();
  const place = { way: "to" as "to" | "from", data: join(folder.path, "data"), moves: 0 };
  cpSync(first, place.data, { recursive: true });
  const moved = (): void => {
    place.moves++;
    if (place.way === "from") expect(dumpFolder(place.data)).toEqual(before);
    place.way = place.way === "to" ? "from" : "to";
    // Also into an empty folder.
    if (place.way === "from" && place.moves % 4 === 1) place.data = join(folder.path, `data-${place.moves}`);
  };
  let maxMs = FIRST_MAX_MS;
  for (let killed = 0; killed < KILLS; ) {
    const { way, data } = place;
    const isLeft = Math.random() < 1 / 4;
    const { code, stderr, ms } = await run(
      [`--${way}`, url, "--data", data],
      isLeft ? undefined : Math.random() * maxMs,
    );
    if (code === undefined) {
      killed++;
      const [embedded, postgres] = [await usable(data, ""), await usable("", url)];
      // A target that was not begun yet is empty.
      const filled = [embedded, postgres].filter((apps) => apps !== undefined && apps > 0);
      expect(filled.length).toBeLessThanOrEqual(1);
      // It was complete, and killed before it could say so.
      if ((way === "to" ? postgres : embedded) === filled[0] && filled.length === 1) moved();
      continue;
    }
    expect([code, stderr]).toEqual([0, stderr]);
    maxMs = (maxMs + ms) / 2;
    moved();
  }
  const lastMoves = place.way === "to" ? 2 : 1;
  for (let at = 0; at < lastMoves; at++) {
    const { code, stderr } = await run([`--${place.way}`, url, "--data", place.data]);
    expect([code, stderr]).toEqual([0, stderr]);
    moved();
  }
  console.log(`${KILLS} kills, ${place.moves} moves`);
});

test.if(IS_FULL)("a full disk ends it, and it continues when there is space", async () => {
  const data = join(folder.path, "full-source");
  cpSync(first, data, { recursive: true });
  const url = await server.newDatabase();
  expect((await run(["--to", url, "--data", data])).code).toBe(0);
  const target = join(folder.path, "full");
  // No file may grow beyond this: the system then fails writes as on a full disk. Without the trap the signal would end the process.
  const blocks = Math.floor((statSync(sqliteFile(data)).size * 0.9) / BLOCK_BYTES);
  const wrap = ["sh", "-c", `trap "" XFSZ; ulimit -f ${blocks}; exec "$@"`, "sh"];
  const { code, stderr } = await run(["--from", url, "--data", target], undefined, wrap);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^parley: the disk of the data folder is full .* running the same command .* continues\n$/,
    ) as string,
  ]);
  expect(await usable(target, "")).toBeUndefined();
  expect((await run(["--from", url, "--data", target])).code).toBe(0);
  expect(dumpFolder(target)).toEqual(dumpFolder(first));
});
