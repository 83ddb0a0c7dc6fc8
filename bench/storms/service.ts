/** Services that lose a part of themselves: one node that is started again, workers that their supervisor replaces, and nodes that others stand in for. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../src/testing/ports.ts";
import { tempFolder } from "../../test/support/temp.ts";
import type { Ground } from "../cluster/systems.ts";
import type { Dialect } from "../contenders/contender.ts";
import { dialect, OPEN_CEILINGS } from "../contenders/parley.ts";
import { launcherOf, MAIN, SETTINGS } from "../lib/parley.ts";
import { childrenOf } from "../lib/pinned.ts";
import { start, workersOf } from "../workers/systems.ts";

const START_MS = 20_000;
const LOOK_EVERY_MS = 20;

export interface Stormed extends AsyncDisposable {
  readonly ports: readonly number[];
  readonly secretKey: string;
  readonly dialect: Dialect;
  /** Processes that are there now. */
  pids(): readonly number[];
  /** How many of them serve clients. */
  readonly serving: number;
  /** Resolves when what was killed is gone, and its replacement, if it has one, is asked to start. */
  strike(): Promise<void>;
}

export interface Scenario {
  readonly name: string;
  /** What the longest wait is about: processes that stayed, or the one that was started again. */
  readonly hasSurvivors: boolean;
  start(): Promise<Stormed>;
}

export const oneNode: Scenario = {
  name: "one node, killed and started again",
  hasSurvivors: false,
  start: async () => {
    const data = tempFolder();
    const port = await freePort();
    const spawn = () =>
      Bun.spawn([...launcherOf(MAIN), "up", "--data", data], {
        stdio: ["ignore", "ignore", "inherit"],
        env: { PATH: process.env.PATH, ...SETTINGS, ...OPEN_CEILINGS, PARLEY_PORT: String(port) },
      });
    let child = spawn();
    const end = async (): Promise<void> => {
      child.kill("SIGKILL");
      await child.exited;
    };
    try {
      const secretKey = await keyFrom(join(data, "first-run.txt"), port);
      return {
        ports: [port],
        secretKey,
        dialect: dialect(secretKey),
        pids: () => [child.pid],
        serving: 1,
        strike: async () => {
          await end();
          child = spawn();
        },
        [Symbol.asyncDispose]: async () => {
          await end();
          rmSync(data, { recursive: true });
        },
      };
    } catch (error) {
      await end();
      rmSync(data, { recursive: true });
      throw error;
    }
  },
};

/** `killed`: how many of them at once. */
export const onWorkers = (count: number, killed: number): Scenario => ({
  name: killed === count ? `${count} workers, all killed` : `${count} workers, ${killed} killed`,
  hasSurvivors: killed < count,
  start: async () => {
    const service = await start(workersOf(count), false);
    const [supervisor = 0] = service.pids;
    return {
      ports: [service.port],
      secretKey: service.secretKey,
      dialect: service.dialect,
      pids: () => [supervisor, ...childrenOf(supervisor)],
      serving: count,
      strike: async () => {
        for (const pid of childrenOf(supervisor).slice(0, killed)) process.kill(pid, "SIGKILL");
      },
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    };
  },
});

/** One of them is killed, and not started again: its clients find the others. */
export const onNats = (ground: Ground, count: number): Scenario => ({
  name: `${count} nodes on NATS, one killed`,
  hasSurvivors: true,
  start: async () => {
    const system = await ground.joined(count).start();
    const pids = [...system.nodePids];
    return {
      ports: system.ports,
      secretKey: system.secretKey ?? "",
      dialect: system.dialect,
      pids: () => pids,
      serving: count,
      strike: async () => {
        const victim = pids.pop();
        if (victim !== undefined) process.kill(victim, "SIGKILL");
      },
      [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
    };
  },
});

/** Written by the first start before it is ready. */
async function keyFrom(file: string, port: number): Promise<string> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    const [, secretKey] = /secret key +(\S+)\n/.exec(existsSync(file) ? readFileSync(file, "utf8") : "") ?? [];
    if (secretKey && (await isReady(port))) return secretKey;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`a node was not ready within ${START_MS / 1000} s`);
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
