/** One node with history on some channels, on the server's core, whose stalls are measured. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Admin } from "../../test/support/admin.ts";
import { tempFolder } from "../../test/support/temp.ts";
import type { Dialect } from "../contenders/contender.ts";
import { ON_SERVER_CORE, SERVER_CORE } from "../contenders/core.ts";
import { dialect, OPEN_CEILINGS } from "../contenders/parley.ts";
import { startParley } from "../lib/parley.ts";
import type { Stalls } from "./watched.ts";

const WATCHED = join(import.meta.dir, "watched.ts");
const LOOK_EVERY_MS = 5;
/** Names of channels with history begin like this. */
export const KEPT = "kept";
/** Fewer than a run publishes: trimming is part of the price. */
const KEPT_MESSAGES = 1000;

export interface HistoryNode extends AsyncDisposable {
  readonly port: number;
  readonly pids: readonly [number];
  readonly secretKey: string;
  readonly dialect: Dialect;
  /** The longest stall of the event loop during this work. */
  stalls(work: () => Promise<unknown>): Promise<Stalls>;
}

const HISTORY = { pattern: `${KEPT}*`, history: { messages: KEPT_MESSAGES, seconds: 3600 } };

/** `rules`: those of the application `demo`. */
export async function startNode(
  settings: Readonly<Record<string, string>> = {},
  rules: readonly object[] = [HISTORY],
): Promise<HistoryNode> {
  const folder = tempFolder();
  const file = join(folder, "stalls");
  const adminToken = `bench_${crypto.randomUUID()}`;
  const all = {
    ...OPEN_CEILINGS,
    PARLEY_ADMIN_TOKEN: adminToken,
    STALLS: file,
    STALLS_CORE: String(SERVER_CORE),
    ...settings,
  };
  const launcher = [process.execPath, "--no-env-file", WATCHED];
  const server = await startParley({ launcher, prefix: ON_SERVER_CORE, settings: all });
  const admin = new Admin(server.url.origin, adminToken);
  await admin.must("PATCH", "/apps/demo", { channelRules: rules });
  return {
    port: Number(server.url.port),
    pids: [server.pid],
    secretKey: server.secretKey,
    dialect: dialect(server.secretKey),
    stalls: async (work) => {
      rmSync(file, { force: true });
      process.kill(server.pid, "SIGUSR2");
      await work();
      process.kill(server.pid, "SIGUSR2");
      while (!existsSync(file)) await sleep(LOOK_EVERY_MS);
      return JSON.parse(readFileSync(file, "utf8")) as Stalls;
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}
