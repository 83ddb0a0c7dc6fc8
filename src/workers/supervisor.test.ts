/** The supervisor with processes that are no workers (testing/puppet.ts): how many it keeps, and when it starts them. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { found } from "../../test/support/wait.ts";
import type { Log } from "../telemetry/log.ts";
import { Supervisor } from "./supervisor.ts";

interface Line {
  readonly msg: string;
  readonly worker?: number;
  readonly workerPid?: number;
  readonly waitMs?: number;
}
interface Note {
  readonly slot: number;
  readonly pid: number;
  readonly begun?: boolean;
  readonly lead?: number | null;
  readonly ready?: number;
  readonly serving?: readonly number[];
  readonly reports?: Readonly<Record<string, string>>;
}

let folder: string;
let logged: Line[];
let supervisor: Supervisor;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "supervisor-test-"));
  logged = [];
  supervisor = supervise();
});
afterEach(async () => {
  await supervisor.stop();
  rmSync(folder, { recursive: true, force: true });
});

function supervise(): Supervisor {
  const line = (fields: object | string, msg = ""): void =>
    void logged.push(typeof fields === "string" ? { msg: fields } : { ...fields, msg });
  const log = { debug: line, info: line, warn: line, error: line, fatal: line } as unknown as Log;
  const command = [process.execPath, join(import.meta.dir, "testing/puppet.ts")];
  const config = { drainSeconds: 1 } as never;
  return new Supervisor({ nodeId: "n", count: 2, folder, command, log, config, sources: {} as never });
}

const until = <T>(what: () => T | undefined | false): Promise<T> => found("it happens", () => what() || undefined);

function notes(): Note[] {
  const file = join(folder, "notes");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
const say = (what: string): void => writeFileSync(join(folder, what), "");
const unsay = (what: string): void => rmSync(join(folder, what));
const pidOf = (slot: number): number => Number(notes().findLast((note) => note.slot === slot)?.pid);
const readyPids = (): (number | undefined)[] =>
  logged.flatMap(({ msg, workerPid }) => (msg === "worker is ready" ? [workerPid] : []));
const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);
const running = (): number => [...new Set(notes().map(({ pid }) => pid))].filter(isRunning).length;

const refusalOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "",
    (error: Error) => error.message,
  );

test("a worker that starts knows which others serve before it begins, and later ones", async () => {
  await supervisor.start();
  const known = (slot: number) => notes().filter((note) => note.slot === slot);
  expect(known(0)[0]?.serving).toEqual([]);
  expect([known(1)[0]?.serving, known(1)[1]?.begun]).toEqual([[0], true]);
  for (const slot of [0, 1]) await until(() => known(slot).at(-1)?.serving?.length === 2);
  process.kill(pidOf(1), "SIGUSR1");
  await until(() => known(0).some(({ serving }) => serving?.join() === "0"));
});

test("what a worker reports is said to all, and forgotten when it ends", async () => {
  await supervisor.start();
  const heard = (slot: number) => notes().findLast((note) => note.slot === slot && note.reports)?.reports;
  process.kill(pidOf(1), "SIGUSR2");
  for (const slot of [0, 1]) await until(() => heard(slot)?.nats === "unreachable from 1");
  process.kill(pidOf(1), "SIGKILL");
  await until(() => heard(0)?.nats === undefined);
});

test("a worker that ends is replaced at once, and one that fails to start after waits that double", async () => {
  await supervisor.start();
  say("fail-1");
  process.kill(pidOf(1), "SIGKILL");
  const waits = (): number[] => logged.flatMap(({ waitMs }) => (waitMs === undefined ? [] : [waitMs]));
  await until(() => waits().length === 4);
  expect(waits()).toEqual([0, 250, 500, 1000]);
  unsay("fail-1");
  await until(() => readyPids().length === 3);
  expect(running()).toBe(2);
});

test("a worker that dies while others start is replaced when all have started", async () => {
  say("hold-1");
  const starting = supervisor.start();
  await until(() => notes().some(({ slot, begun }) => slot === 1 && begun));
  const first = pidOf(0);
  process.kill(first, "SIGKILL");
  await until(() => !isRunning(first));
  expect(readyPids()).toEqual([first]);
  unsay("hold-1");
  await starting;
  await until(() => readyPids().length === 3);
  expect(running()).toBe(2);
});

test("a worker that dies during a reload is replaced, and as many run afterwards as before", async () => {
  await supervisor.start();
  const old = [0, 1].map(pidOf);
  say("hold-2");
  const reloading = supervisor.reload();
  await until(() => notes().some(({ slot, begun }) => slot === 2 && begun));
  // The one that is not replaced yet, and then the new one: the reload fails, and the number of workers stays.
  process.kill(Number(old[1]), "SIGKILL");
  await until(() => !isRunning(Number(old[1])));
  process.kill(pidOf(2), "SIGKILL");
  unsay("hold-2");
  expect(await refusalOf(reloading)).toContain("a new worker could not start; the others keep running");
  await until(() => readyPids().length === 3);
  expect(running()).toBe(2);
  expect(isRunning(Number(old[0]))).toBe(true);
  // The next reload replaces all.
  expect(await supervisor.reload()).toBe(2);
  expect([running(), isRunning(Number(old[0]))]).toEqual([2, false]);
});

test("a worker that drains by itself is replaced before it ends, and does not lead any more", async () => {
  await supervisor.start();
  const [leaving, staying] = [pidOf(0), pidOf(1)];
  const leadOf = (pid: number): number | null | undefined =>
    notes().findLast((note) => note.pid === pid && note.lead !== undefined)?.lead;
  await until(() => leadOf(staying) === 0);
  process.kill(leaving, "SIGUSR1");
  await until(() => leadOf(staying) === 1);
  await until(() => readyPids().length === 3);
  expect([isRunning(leaving), running()]).toEqual([true, 3]);
  process.kill(leaving, "SIGKILL");
  await until(() => !isRunning(leaving) && notes().some(({ pid, ready }) => pid === staying && ready === 2));
  expect(running()).toBe(2);
  expect(readyPids()).toHaveLength(3);
});

test("a stop during the start ends the workers that have started, and starts no others", async () => {
  say("hold-0");
  const starting = supervisor.start();
  await until(() => notes().some(({ begun }) => begun));
  const refusal = refusalOf(starting);
  await supervisor.stop();
  expect(await refusal).toContain("while it started");
  expect([running(), notes().filter(({ begun }) => begun).length]).toEqual([0, 1]);
});
