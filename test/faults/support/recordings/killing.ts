/** A world of pages that record, whose service is killed again and again, and which is judged after each kill and at the end. */
import { utimesSync } from "node:fs";
import { join } from "node:path";
import type { SQL } from "bun";
import { STRAY_AGE_MS } from "../../../../src/recordings/budgets/limits.ts";
import { CHECK_FOLDER_PREFIX } from "../../../../src/recordings/mending/folder.ts";
import { newRoomApp } from "../../../conformance/raw/support/rooms.ts";
import { Application } from "../../../support/application.ts";
import { call } from "../../../support/http.ts";
import { menderOf, signalMender } from "../../../support/menders.ts";
import type { Server } from "../../../support/parley.ts";
import { Chance } from "../../../support/random.ts";
import { Backend } from "../../../support/recordings.ts";
import { everythingIn, Judge } from "./judge.ts";
import { Page, type World } from "./pages.ts";
import { POINTS, Points } from "./points.ts";
import { Runs } from "./runs.ts";
import { newSetting, type SettingName } from "./settings.ts";

export interface Killing {
  readonly setting: SettingName;
  readonly seed: number;
  readonly kills: number;
  /** How many record at the same time. */
  readonly pages?: number;
}

export interface Outcome {
  kills: number;
  /** Processes that were killed while they mended. */
  menders: number;
  readonly uploads: number;
  readonly mended: number;
  readonly asTheyCame: number;
}

const PAGES = 6;
/** On a shared store, an upload waits for the lease of a node that was killed. */
const PAGES_OF_NODES = 12;
const POINT_MAX_MS = 1500;
const LIVED_MAX_MS = 1200;
const SOON_AFTER_MS = 40;
const KEPT_MS = 31 * 60_000;
const NO_PROGRESS_MS = 90_000;
/** Three nodes go on while one of them starts, and would make more recordings than can be mended. */
const PAUSE_OF_NODES_MS = 2000;
const LOOK_EVERY_MS = 500;

export async function killAndJudge({ setting: name, seed, kills, pages: count }: Killing): Promise<Outcome> {
  const chance = new Chance(seed);
  const setting = await newSetting(name, new Chance(seed + 0.5));
  try {
    const server = await setting.node();
    const app = await newRoomApp(server);
    const pauseMs = setting.isQuiet ? 0 : PAUSE_OF_NODES_MS;
    const world: World = { setting, runs: new Runs(), points: new Points(), chance, app, pauseMs, isOver: false };
    const { runs } = world;
    const isBucket = name === "bucket";
    const { storage, unfinished, isQuiet } = setting;
    const judge = new Judge({ runs, storage, isBucket, unfinished, isQuiet });
    const pages = Array.from({ length: count ?? (isQuiet ? PAGES : PAGES_OF_NODES) }, () => new Page(world).live());
    const working = Promise.all(pages);
    const outcome = { kills: 0, menders: 0 };
    try {
      // A page that fails ends the run.
      await Promise.race([working, killing(world, judge, kills, outcome)]);
    } finally {
      world.isOver = true;
      console.log(`${name}, seed ${seed}: ${outcome.kills} kills, ${runs.all.size} uploads`);
    }
    await working;
    await settle(world, judge);
    const { mended, asTheyCame } = judge;
    return { ...outcome, uploads: runs.all.size, mended, asTheyCame };
  } finally {
    await setting.stop();
  }
}

async function killing(
  world: World,
  judge: Judge,
  kills: number,
  done: { kills: number; menders: number },
): Promise<void> {
  const { setting, points, chance, runs } = world;
  while (done.kills < kills && !world.isOver) {
    const point = chance.pick(POINTS);
    const { pid } = await setting.victim();
    if (point === "any") await Bun.sleep(chance.below(LIVED_MAX_MS));
    else if (point === "mending") {
      const mender = await menderOf(pid, POINT_MAX_MS);
      if (mender !== undefined && chance.once(2)) {
        await Bun.sleep(chance.below(4 * SOON_AFTER_MS));
        if (signalMender(mender, "SIGKILL")) done.menders++;
      }
    } else await points.next(point, POINT_MAX_MS);
    await Bun.sleep(chance.below(SOON_AFTER_MS));
    const againAfterMs = chance.once(8) ? chance.below(LIVED_MAX_MS) : undefined;
    await setting.kill(async (sql) => {
      await judge.look(sql);
      await age(sql, [...runs.abandoned]);
    }, againAfterMs);
    done.kills += againAfterMs === undefined ? 1 : 2;
  }
}

/** Half an hour passes since these stays have ended. */
async function age(sql: SQL, stays: readonly string[]): Promise<void> {
  if (stays.length === 0) return;
  await sql`
    UPDATE stays SET ended = ${Date.now() - KEPT_MS}, why = 'left', node = ${null}
    WHERE id IN ${sql(stays)} AND (ended IS NULL OR ended > ${Date.now() - KEPT_MS})`;
}

/** Everything that came is listed, and nothing else is left. */
async function settle({ setting, runs, app: { name, secretKey, id } }: World, judge: Judge): Promise<void> {
  const backend = ({ url }: Server): Backend => new Backend(new Application(url, name, secretKey, id));
  await setting.restart(async (sql) => {
    await judge.look(sql);
    // Also those of uploads whose begin was not answered.
    const rows: { stay: string }[] = await sql`SELECT DISTINCT stay FROM uploads`;
    await age(
      sql,
      rows.map(({ stay }) => stay),
    );
  });
  const server = await setting.node();
  const due = runs.living.filter(({ acked }) => acked > 0).map((run) => run.id);
  await eventually(server, "everything that came is listed", async () => {
    const listed = new Set(await all(backend(server)));
    const missing = due.filter((one) => !listed.has(one));
    return missing.length === 0 && (await uploading(server, id)) > 0 ? ["bytes of open uploads"] : missing;
  });
  // A day later files without a row are removed.
  await setting.restart(async (sql) => {
    await judge.look(sql);
    const then = (Date.now() - STRAY_AGE_MS) / 1000 - 60;
    for (const folder of [setting.storage, setting.unfinished ?? "", join(setting.data, "mending")])
      for (const path of everythingIn(folder)) utimesSync(path, then, then);
  });
  const swept = await setting.node();
  await eventually(swept, "it has swept", async () => {
    const { text } = await call(`${swept.url}/metrics`, { bearer: swept.adminToken });
    const isSwept = text.includes('parley_recording_sweeps_total{outcome="done"} 1');
    // The node has just begun to try whether it can mend, and has a folder for it until it knows.
    return [...(isSwept ? [] : ["sweep"]), ...everythingIn(join(setting.data, "mending"))];
  });
  await setting.restart(async (sql) => {
    await judge.contents(sql);
    // A node that is stopped while it tries whether it can mend leaves that folder for an hour.
    const left = everythingIn(join(setting.data, "mending")).filter(
      (path) => !path.includes(`/${CHECK_FOLDER_PREFIX}`),
    );
    if (left.length > 0) throw new Error(`temporary files are left: ${left}`);
  });
}

/** Mending takes as long as the machine needs, but it must go on. */
async function eventually(server: Server, what: string, missing: () => Promise<readonly string[]>): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let until = performance.now() + NO_PROGRESS_MS; ; await Bun.sleep(LOOK_EVERY_MS)) {
    const left = await missing();
    if (left.length === 0) return;
    if (left.length < fewest) until = performance.now() + NO_PROGRESS_MS;
    fewest = Math.min(fewest, left.length);
    if (performance.now() > until) throw new Error(`not in time: ${what}: ${left}\n${server.output.slice(-3000)}`);
  }
}

async function all(backend: Backend): Promise<string[]> {
  const ids: string[] = [];
  for (let endId = ""; ; ) {
    const page = await backend.list({ limit: 100, ...(endId !== "" && { endId }) });
    if (page.data.length === 0) break;
    ids.push(...page.data.map(({ _id }) => _id));
    endId = page.currEndId;
  }
  if (new Set(ids).size !== ids.length) throw new Error("a recording is listed twice");
  return ids;
}

/** How many bytes the control plane counts for open uploads. */
async function uploading({ admin }: Server, app: string): Promise<number> {
  const { storage } = await admin.must<{ storage: { uploading: number } }>("GET", `/apps/${app}/recordings`);
  return storage.uploading;
}
