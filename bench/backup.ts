/**
 * A backup of 5 GB of recordings and 1,000,000 messages while the service is used: its time and memory, and what publishers notice. The control is a
 * plain copy of the same files. Then the restore.
 *
 * `npm run bench -- backup`           as above; needs 25 GB of disk for a while
 * `npm run bench -- backup --quick`   a tenth of it
 */
import { randomFillSync } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { asAppId, spaceOf } from "../src/base/ids.ts";
import { historyFile } from "../src/history/sqlite/file.ts";
import { SqliteHistory } from "../src/history/sqlite/history.ts";
import { batchOf } from "../src/history/testing/kit.ts";
import { Application } from "../test/support/application.ts";
import { call } from "../test/support/http.ts";
import { type Server, startParley } from "../test/support/parley.ts";
import { Backend } from "../test/support/recordings.ts";
import { tempFolder } from "../test/support/temp.ts";
import { KIB, MIB } from "./lib/memory.ts";
import { MAIN } from "./lib/parley.ts";
import { keep, table } from "./lib/report.ts";

const RECORDINGS = 50;
const RECORDING_BYTES = 100_000_000;
const MESSAGES = 1_000_000;
const CHANNELS = 200;
const BATCH = 1000;
const QUIET_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** The longest that a publish may take more than without a backup. */
const STALL_MAX_MS = 500;
const RSS_MAX = 400 * MIB;

interface Run {
  readonly seconds: number;
  readonly maxRss: number;
}

export async function backup(args: readonly string[]): Promise<boolean> {
  const share = args.includes("--quick") ? 0.1 : 1;
  const folder = tempFolder();
  try {
    return await measure(folder, share);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string, share: number): Promise<boolean> {
  const data = join(folder, "data");
  const app = await fill(data, share);
  await using server = await startParley({ data, env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  const before = await publishes(server, app.key, Bun.sleep(QUIET_MS));
  const file = join(folder, "whole.backup");
  const env = { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: server.adminToken };
  using children = new Peak(() => childrenOf(server.pid));
  const running = parley(["backup", file], env);
  const during = await publishes(server, app.key, running);
  const made = await running;
  const childRss = children.bytes;
  const serverRss = peakRss(server.pid);
  await server.kill("SIGTERM");
  const copied = await run(["cp", "-r", data, join(folder, "copy")]);
  rmSync(join(folder, "copy"), { recursive: true });
  const masterKey = readFileSync(join(data, "master.key"), "utf8").trim();
  const restored = await parley(["restore", file, "--data", join(folder, "restored")], {
    PARLEY_MASTER_KEY: masterKey,
  });
  const bytes = bytesIn(data);
  const mib = (count: number): string => (count / MIB).toFixed(0);
  const row = (name: string, { seconds, maxRss }: Run): string[] => [
    name,
    seconds.toFixed(1),
    mib(bytes / seconds),
    mib(maxRss),
  ];
  console.log(`${mib(bytes)} MiB in the data folder, ${mib(statSync(file).size)} MiB in the backup\n`);
  console.log(
    table(
      ["", "seconds", "MiB/s", "peak RSS, MiB"],
      [
        row("cp -r (control)", copied),
        row("parley backup", made),
        ["  process that copies", "", "", mib(childRss)],
        ["  service", "", "", mib(serverRss)],
        row("parley restore", restored),
      ],
    ),
  );
  console.log(
    table(
      ["publish with history, ms", "count", "p50", "p99", "longest"],
      [timesRow("without", before), timesRow("during the backup", during)],
    ),
  );
  const stall = Math.max(...during) - Math.max(...before);
  const holds = stall < STALL_MAX_MS && Math.max(made.maxRss, childRss, serverRss, restored.maxRss) < RSS_MAX;
  console.log(
    `\na publish waited ${stall.toFixed(0)} ms longer at most (bound ${STALL_MAX_MS}), memory below ${mib(RSS_MAX)} MiB: ${holds ? "holds" : "MISSED"}`,
  );
  const figures = {
    bytes,
    backupBytes: statSync(file).size,
    copied,
    made,
    childRss,
    serverRss,
    restored,
    before: summary(before),
    during: summary(during),
  };
  console.log(`written to ${await keep("backup", { ...figures, holds })}\n`);
  return holds;
}

interface Filled {
  readonly key: string;
}

async function fill(data: string, share: number): Promise<Filled> {
  const server = await startParley({ data });
  const { _id, name, secretKey } = await server.admin.createApp("backed-up");
  const rules = [{ pattern: "live", history: { messages: 10_000, seconds: 2_592_000 } }];
  await server.admin.must("PATCH", `/apps/${_id}`, { channelRules: rules });
  const { credential } = await server.admin.createKey(_id, { channelPatterns: ["live"] });
  const backend = new Backend(new Application(server.url, name, secretKey, _id));
  const room = await backend.room("recorded");
  // Recordings do not get smaller by compressing.
  const bytes = randomFillSync(new Uint8Array(RECORDING_BYTES));
  for (let i = 0; i < RECORDINGS * share; i++) {
    randomFillSync(bytes, 0, MIB);
    await backend.record({ room }, bytes);
  }
  await server.kill("SIGTERM");
  const history = new SqliteHistory({ path: historyFile(data), sync: "process", setAside: console.log });
  const space = spaceOf(asAppId(_id));
  const dataJson = JSON.stringify({ text: "a message of about the usual length, with some text in it".repeat(3) });
  const keep = { messages: 10_000, seconds: 2_592_000 };
  for (let i = 0; i < MESSAGES * share; i += BATCH) {
    const channel = `filled/${(i / BATCH) % CHANNELS}`;
    await history.append(
      batchOf(...Array.from({ length: BATCH }, () => ({ spaceId: space, channel, dataJson, keep }))),
    );
  }
  await history.close();
  return { key: credential };
}

/** How long each publish takes, ms, one after another, until that is over. */
async function publishes(server: Server, key: string, until: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  const state = { isOver: false };
  void until.finally(() => {
    state.isOver = true;
  });
  while (!state.isOver) {
    const from = performance.now();
    const { status, text } = await call(`${server.url}/v1/channels/live/publish`, { body: { data: "x" }, bearer: key });
    if (status !== 200) throw new Error(`${status} ${text}`);
    times.push(performance.now() - from);
    await Bun.sleep(2);
  }
  return times;
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;

function summary(times: readonly number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  return { count: times.length, p50: at(sorted, 0.5), p99: at(sorted, 0.99), longest: sorted.at(-1) ?? 0 };
}

function timesRow(name: string, times: readonly number[]): string[] {
  const { count, p50, p99, longest } = summary(times);
  return [name, String(count), p50.toFixed(1), p99.toFixed(1), longest.toFixed(1)];
}

const parley = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> =>
  run([process.execPath, "--no-env-file", MAIN, ...args, "--quiet"], env);

async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  const from = performance.now();
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdout: "ignore",
    stderr: "pipe",
  });
  // Not by its resource usage, which counts this process too, of which it is a fork.
  using peak = new Peak(() => [child.pid]);
  const text = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(text);
  return { seconds: (performance.now() - from) / 1000, maxRss: peak.bytes };
}

/** The largest memory that these processes have had while it is watched. */
class Peak {
  bytes = 0;
  private readonly timer: Timer;

  constructor(private readonly pids: () => readonly number[]) {
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private look(): void {
    try {
      for (const pid of this.pids()) this.bytes = Math.max(this.bytes, peakRss(pid));
    } catch {
      // One of them has ended meanwhile.
    }
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);

const peakRss = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * KIB;

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
