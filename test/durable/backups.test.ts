/** Backups that are made while a service is used: each has everything of one moment. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { isInSample } from "../support/sample.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { judge } from "./support/judge.ts";
import { Load, type LoadedApp, newLoadedApp } from "./support/load.ts";
import { verified } from "./support/verified.ts";

setDefaultTimeout(600_000);

const BACKUPS = IS_FULL ? 10 : 2;
/** So that each backup has something of its own. */
const ACKED_BETWEEN = IS_FULL ? 200 : 30;

interface Made {
  readonly file: string;
  readonly atMs: number;
  readonly isVerified: boolean;
}

async function backup(server: Server, file: string): Promise<number> {
  const env = { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: server.adminToken };
  const { code, output } = await runParley(["backup", file, "--json"], env);
  if (code !== 0) throw new Error(output);
  return Date.parse(JSON.parse(output.split("\n").find((line) => line.startsWith("{")) ?? "{}").at);
}

/** By counting what is there, and by `parley verify`. */
async function judgeRestored({ file, atMs, isVerified }: Made, data: string, from: Server, app: LoadedApp, load: Load) {
  const env = {
    PARLEY_MASTER_KEY: Buffer.from(await Bun.file(join(from.data, "master.key")).text(), "base64").toString("base64"),
  };
  const { code, output } = await runParley(["restore", file, "--data", data], env);
  expect([code, output]).toEqual([0, expect.stringContaining("restored")]);
  const unlimited = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_ADMIN_TOKEN: from.adminToken };
  await using restored = await startParley({ data, env: { ...env, ...unlimited } });
  return { ...(await judge(restored, app, load, atMs)), ...(isVerified && (await verified(restored, app))) };
}

test.each(IS_FULL ? ["", "2"] : [""])(
  "%s nothing acknowledged before a backup is missing, nothing after it is half there",
  async (workers) => {
    using folder = scratch();
    await using server = await startParley({
      data: join(folder.path, "data"),
      env: { PARLEY_REST_REQUESTS_PER_SECOND: "0", ...(workers !== "" && { PARLEY_WORKERS: workers }) },
    });
    const app = await newLoadedApp(server, "loaded");
    const load = new Load(server, app);
    const made: Made[] = [];
    try {
      for (let i = 0; i < BACKUPS; i++) {
        const before = load.messages.length;
        await until(
          "more is acknowledged",
          () => load.messages.length > before + ACKED_BETWEEN && load.recordings.length > 3 * i,
        );
        const file = join(folder.path, `${i}.backup`);
        made.push({ file, atMs: await backup(server, file), isVerified: isInSample(i, BACKUPS) });
      }
    } finally {
      await load.stop();
    }
    for (const [i, one] of made.entries()) {
      const judged = await judgeRestored(one, join(folder.path, `restored-${i}`), server, app, load);
      expect(judged.messages).toBeGreaterThan(0);
      console.log(JSON.stringify({ backup: i, ...judged, acked: load.messages.length }));
    }
  },
);
