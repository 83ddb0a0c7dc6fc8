/**
 * Long runs split by seed: each seed runs in its own process, several at a time, and gives one line of JSON. The lines are a
 * ledger: a restarted run skips the seeds that have passed, and no seed is counted twice.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { cpus } from "node:os";

export interface Line {
  /** What was run: decode, connections, nats, http, model. */
  readonly what: string;
  readonly seed: number;
  /** How many frames, texts, requests or steps. */
  readonly count: number;
  readonly ok: boolean;
  readonly seconds: number;
  /** The version of the code: a commit, with + if files were changed. */
  readonly code: string;
  readonly date: string;
  readonly [figure: string]: unknown;
}

export interface Total {
  readonly what: string;
  readonly count: number;
  readonly seeds: number;
  readonly failed: number;
  readonly seconds: number;
}

export interface Slices {
  readonly what: string;
  readonly seeds: readonly number[];
  /** The command of one seed; its last line of output is a `Line`. */
  readonly command: (seed: number) => readonly string[];
  readonly processes: number;
  /** A slice that takes longer is a hang. */
  readonly maxSeconds: number;
  /** The file that keeps the lines; without it they are only printed. */
  readonly ledger?: string | undefined;
}

export const CORES = cpus().length;

/** `7` or `100-199`. */
export function seedsIn(text: string): number[] | undefined {
  const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  if (first === undefined) return undefined;
  const [from, to] = [Number(first), Number(last ?? first)];
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || to < from || to - from > SEEDS_MAX) return undefined;
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

const SEEDS_MAX = 1_000_000;

export function readLedger(path: string): Line[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((text) => (text.startsWith("{") ? [JSON.parse(text) as Line] : []));
}

/** A seed counts once: only its last line in the ledger. */
export function totals(lines: readonly Line[]): Total[] {
  const byWhat = Map.groupBy(
    new Map(lines.map((line) => [`${line.what} ${line.seed}`, line])).values(),
    ({ what }) => what,
  );
  return [...byWhat].map(([what, all]) => ({
    what,
    count: all.reduce((sum, { count, ok }) => sum + (ok ? count : 0), 0),
    seeds: all.length,
    failed: all.filter(({ ok }) => !ok).length,
    seconds: Math.round(all.reduce((sum, { seconds }) => sum + seconds, 0)),
  }));
}

/** Runs the seeds that have not passed yet; returns whether all of them passed. */
export async function runSlices({ what, seeds, command, processes, maxSeconds, ledger }: Slices): Promise<boolean> {
  const done = new Set(
    ledger === undefined
      ? []
      : readLedger(ledger).flatMap((line) => (line.what === what && line.ok ? [line.seed] : [])),
  );
  const waiting = seeds.filter((seed) => !done.has(seed));
  if (waiting.length < seeds.length) console.log(`${seeds.length - waiting.length} seeds of ${what} are in the ledger`);
  let ok = true;
  const work = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const line = await runOne(what, seed, command(seed), maxSeconds);
      ok &&= line.ok;
      console.log(JSON.stringify(line));
      if (ledger !== undefined) appendFileSync(ledger, `${JSON.stringify(line)}\n`);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  return ok;
}

async function runOne(what: string, seed: number, command: readonly string[], maxSeconds: number): Promise<Line> {
  const started = performance.now();
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, maxSeconds * 1000);
  const output = await new Response(child.stdout).text();
  const code = await child.exited;
  clearTimeout(timer);
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  if (code === 0 && last.startsWith("{")) return JSON.parse(last) as Line;
  const seconds = (performance.now() - started) / 1000;
  const why = isLate ? `it took longer than ${maxSeconds} s` : `it ended with ${code}`;
  return { ...header(what, seed), count: 0, ok: false, seconds, why, output: output.slice(-5000) };
}

/** The fields that every line starts with. */
export const header = (what: string, seed: number): Pick<Line, "what" | "seed" | "code" | "date"> => ({
  what,
  seed,
  code: codeNow(),
  date: new Date().toISOString().slice(0, 10),
});

function codeNow(): string {
  const git = (...args: string[]): string =>
    Bun.spawnSync(["git", ...args], { stderr: "ignore" })
      .stdout.toString()
      .trim();
  const commit = git("rev-parse", "--short", "HEAD");
  return commit === "" ? "unknown" : commit + (git("status", "--porcelain", "--untracked-files=no") === "" ? "" : "+");
}
