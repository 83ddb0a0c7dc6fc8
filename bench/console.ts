/**
 * What an open live tail costs: server CPU per published frame with the tail closed, with a filter, and on everything. One server; the
 * tail is opened and closed between short turns, so that all cases get the same conditions.
 *
 *   npm run bench -- console            nine runs, about ten minutes
 *   npm run bench -- console --quick    once and short: to see that it works, not for conclusions
 */
import { parseArgs } from "node:util";
import { ON_SERVER_CORE } from "./contenders/core.ts";
import { dialect, OPEN_CEILINGS } from "./contenders/parley.ts";
import { cpuOf, type Deliveries, open, type Plan, together } from "./lib/loader.ts";
import { startParley } from "./lib/parley.ts";
import { keep, median, table } from "./lib/report.ts";
import { isSliced, LOADS } from "./speed/loads.ts";

const CLOSED = "closed";
const FILTERED_MAX = 1.05;
const EVERYTHING_MAX = 1.2;

interface Case {
  readonly name: string;
  /** undefined: the tail is closed. */
  readonly query?: string;
  /** The CPU of a frame, compared with the closed tail. */
  readonly atMost?: number;
}

const NOTHING_MATCHES: Case = { name: "another channel", query: "channel=elsewhere/*", atMost: FILTERED_MAX };
const ONE_OF_MANY: Case = { name: "one channel of 100", query: "channel=bench7", atMost: FILTERED_MAX };
const EVERYTHING: Case = { name: "everything", query: "", atMost: EVERYTHING_MAX };

const MEASURED: readonly { readonly load: string; readonly cases: readonly Case[] }[] = [
  { load: "a", cases: [{ name: CLOSED }, NOTHING_MATCHES, EVERYTHING] },
  { load: "k10", cases: [{ name: CLOSED }, NOTHING_MATCHES, EVERYTHING] },
  { load: "c+", cases: [{ name: CLOSED }, ONE_OF_MANY, EVERYTHING] },
];

const SLICE_MS = 600;
/**
 * Each turn begins unmeasured: opening a tail makes the runtime compile the path of a frame anew, and a tail is open for minutes. After
 * 200 ms that still showed as 6 to 9 % of a small frame, after a second as 1 to 2 %.
 */
const SETTLE_MS = 1000;
const WHOLE = { runs: 9, unmeasured: 2, measured: 6 };
const QUICK = { runs: 1, unmeasured: 3, measured: 4 };
const ADMIN_TOKEN = `bench_${crypto.randomUUID()}`;

export async function openConsole(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: "boolean", default: false }, runs: { type: "string" } },
  });
  const effort = { ...(values.quick ? QUICK : WHOLE), ...(values.runs && { runs: Number(values.runs) }) };
  const settings = { ...OPEN_CEILINGS, PARLEY_ADMIN_TOKEN: ADMIN_TOKEN };
  await using server = await startParley({ prefix: ON_SERVER_CORE, settings });
  const target = { port: Number(server.url.port), pids: [server.pid] };
  const language = dialect(server.secretKey);

  /** µs of CPU per frame: by load and case, one per run. */
  const found = new Map<string, number[]>();
  for (let run = 1; run <= effort.runs; run++) {
    console.error(`run ${run} of ${effort.runs}`);
    for (const { load: id, cases } of MEASURED) {
      const load = LOADS.find((one) => one.id === id);
      const plan = load && isSliced(load) ? load.plan(language) : undefined;
      if (!plan) throw new Error(`there is no load ${id} in turns`);
      for (const [name, us] of await inTurns(server.url, plan, target, cases, effort))
        found.set(`${id} ${name}`, [...(found.get(`${id} ${name}`) ?? []), us]);
    }
  }
  return report(found);
}

async function inTurns(
  url: URL,
  plan: Plan,
  target: Parameters<typeof open>[1],
  cases: readonly Case[],
  { unmeasured, measured }: { readonly unmeasured: number; readonly measured: number },
): Promise<Map<string, number>> {
  await using session = await open(plan, target);
  const windows = new Map<string, Deliveries[]>(cases.map(({ name }) => [name, []]));
  const turns = [...cases];
  for (let round = 0; round < unmeasured + measured; round++) {
    // Forwards and backwards, so that no case always follows the same one.
    turns.reverse();
    for (const { name, query } of turns) {
      await using _tail = query === undefined ? undefined : await openTail(url, query);
      await session.slice(SETTLE_MS);
      const window = await session.slice(SLICE_MS);
      if (round >= unmeasured) windows.get(name)?.push(window);
    }
  }
  return new Map(
    [...windows].map(([name, all]) => {
      const sum = together(all);
      return [name, (cpuOf(sum) / sum.messages) * 1e6];
    }),
  );
}

/** Reads a tail until it is disposed. Resolves when the server gathers for it. */
async function openTail(url: URL, query: string): Promise<AsyncDisposable> {
  const control = new AbortController();
  const response = await fetch(new URL(`/api/internal/v1/tail?${query}`, url), {
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
    signal: control.signal,
  });
  if (!response.ok || !response.body) throw new Error(`the tail was refused: ${response.status}`);
  const reader = response.body.getReader();
  let beginning = "";
  while (!beginning.includes(": watching")) beginning += new TextDecoder().decode((await reader.read()).value);
  const drained = (async (): Promise<void> => {
    while (!(await reader.read()).done);
  })().catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      control.abort();
      await drained;
    },
  };
}

async function report(found: ReadonlyMap<string, readonly number[]>): Promise<boolean> {
  const rows = MEASURED.flatMap(({ load, cases }) =>
    cases.map(({ name, atMost }) => {
      const [times, closed] = [found.get(`${load} ${name}`) ?? [], found.get(`${load} ${CLOSED}`) ?? []];
      const ratio = median(times.map((us, run) => us / (closed[run] ?? Number.NaN)));
      return { load, name, us: median(times), ratio, atMost, holds: atMost === undefined || ratio <= atMost };
    }),
  );
  const cells = rows.map(({ load, name, us, ratio, atMost, holds }) => [
    `(${load}) ${name}`,
    us.toFixed(2),
    ratio.toFixed(3),
    atMost === undefined ? "" : `${atMost.toFixed(2)} ${holds ? "holds" : "MISSED"}`,
  ]);
  console.log(table(["tail", "µs of CPU per frame", "against closed", "at most"], cells));
  const holds = rows.every((one) => one.holds);
  console.log(`written to ${await keep("console", { rows, runs: Object.fromEntries(found), holds })}`);
  return holds;
}
