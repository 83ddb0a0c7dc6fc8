/** Backups and restores that are killed at random: what is there afterwards is whole. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { anAppId } from "../../src/base/testing/ids.ts";
import { historyFile } from "../../src/history/sqlite/file.ts";
import { SqliteHistory } from "../../src/history/sqlite/history.ts";
import { appendTexts, numbers } from "../../src/history/testing/kit.ts";
import { openStore } from "../../src/store/open.ts";
import { parleyCommand } from "../support/command.ts";
import { runParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";

setDefaultTimeout(900_000);

const KILLS = IS_FULL ? 100 : 2;
const MESSAGES = 2000;
const folder = tempFolder();
afterAll(() => removeFolder(folder));

/** A data folder whose store and history say which it is. */
async function madeData(name: string, generation: string): Promise<string> {
  const data = join(folder, name);
  mkdirSync(data);
  const store = await openStore(data);
  await store.change((change) => change.putMeta("generation", generation));
  await store.close();
  const history = new SqliteHistory({ path: historyFile(data), sync: "process", setAside: () => undefined });
  await appendTexts(
    history,
    numbers(1, MESSAGES).map((text) => `${generation} ${text}`),
  );
  await history.close();
  return data;
}

interface Generation {
  readonly store: string | undefined;
  readonly history: string | undefined;
  readonly messages: number;
}

async function generationIn(data: string): Promise<Generation> {
  const store = await openStore(data);
  const history = new SqliteHistory({
    path: historyFile(data),
    sync: "process",
    setAside: (text) => expect(text).toBe(""),
  });
  try {
    const page = await history.read(anAppId("app"), "channel", { limit: 1, maxBytes: 1_000_000 });
    const text = JSON.parse(page?.messages[0]?.dataJson ?? '""') as string;
    return { store: await store.meta("generation"), history: text.split(" ")[0], messages: page?.state.top ?? 0 };
  } finally {
    await history.close();
    await store.close();
  }
}

/** Runs a command, and kills its process and those that it has started after this time. False: it was done before. */
async function killed(args: readonly string[], afterMs: number): Promise<boolean> {
  const child = Bun.spawn(["setsid", ...parleyCommand(...args)], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  const isOver = await Promise.race([child.exited.then(() => true), Bun.sleep(afterMs).then(() => false)]);
  if (isOver) return false;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
  await child.exited;
  return true;
}

let newBackup = "";
let wholeMs = 0;
beforeAll(async () => {
  const data = await madeData("new", "new");
  newBackup = join(folder, "new.backup");
  const startedMs = performance.now();
  const { code, output } = await runParley(["backup", newBackup, "--data", data]);
  if (code !== 0) throw new Error(output);
  wholeMs = performance.now() - startedMs;
});

test("a backup that is killed leaves nothing under a name, and the store as it was", async () => {
  const data = await madeData("backed-up", "old");
  const to = join(folder, "to");
  let kills = 0;
  for (let i = 0; i < KILLS; i++) {
    if (await killed(["backup", `${to}/`, "--data", data], Math.random() * wholeMs * 1.2)) kills++;
    for (const name of existsSync(to) ? readdirSync(to) : []) {
      if (!name.endsWith(".backup")) continue;
      const { code, output } = await runParley(["restore", join(to, name), "--data", join(folder, `r${i}`)]);
      expect([code, output]).toEqual([0, expect.any(String)]);
      rmSync(join(to, name));
    }
    expect(await generationIn(data)).toEqual({ store: "old", history: "old", messages: MESSAGES });
  }
  // A few may all come too late.
  if (IS_FULL) expect(kills).toBeGreaterThan(0);
  // The next one removes what was left.
  expect((await runParley(["backup", join(folder, "last.backup"), "--data", data])).code).toBe(0);
  expect(readdirSync(data).filter((name) => name.startsWith("backup-in-progress"))).toEqual([]);
});

test("a restore that is killed leaves the store and the history of one moment, and can be run again", async () => {
  const found = { old: 0, new: 0 };
  for (let i = 0; i < KILLS; i++) {
    const data = await madeData(`restored-${i}`, "old");
    await killed(["restore", newBackup, "--data", data, "--yes"], Math.random() * wholeMs * 1.2);
    const { store, history, messages } = await generationIn(data);
    expect([store, messages]).toEqual([history, MESSAGES]);
    found[store as "old" | "new"]++;
    expect((await runParley(["restore", newBackup, "--data", data, "--yes"])).code).toBe(0);
    expect(await generationIn(data)).toEqual({ store: "new", history: "new", messages: MESSAGES });
    rmSync(data, { recursive: true });
  }
  console.log(JSON.stringify(found));
});
