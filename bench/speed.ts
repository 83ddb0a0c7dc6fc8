/**
 * The comparison: Parley, the limits of the machine, and what its users could choose instead. Same loader, same machine, same
 * run, one server at a time on its own core. Prints one table, writes bench/results/<date>.json, .md and .svg.
 *
 *   npm run bench                          everything five times, about half an hour
 *   npm run bench -- --quick               once and short: to see that it works, not for conclusions
 *   npm run bench -- --runs 3 --only a,k1  some loads
 *   npm run bench -- --systems Parley,NATS some contenders
 *   npm run bench -- --before other/src/main.ts   Parley of another source tree instead of the others: is this one slower?
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bareJson, bareTopics, broadcaster } from "./contenders/bare.ts";
import { centrifugo } from "./contenders/centrifugo.ts";
import type { Contender, Running } from "./contenders/contender.ts";
import { nats, natsOfDebian } from "./contenders/nats.ts";
import { nchan } from "./contenders/nchan.ts";
import { nodeWs } from "./contenders/node-ws.ts";
import { parley } from "./contenders/parley.ts";
import { socketio } from "./contenders/socketio.ts";
import { keep, machine } from "./lib/report.ts";
import { chart } from "./speed/chart.ts";
import { AGAIN, BARE_BUN, BEFORE, type Figures, isSliced, LOADS, type Load, PARLEY, type Pace } from "./speed/loads.ts";
import { idleMemory } from "./speed/memory.ts";
import { Results } from "./speed/results.ts";
import { type Slices, sideBySide } from "./speed/slices.ts";
import { presenceStorm } from "./speed/storm.ts";

const CONTENDERS: readonly Contender[] = [
  parley(PARLEY),
  broadcaster,
  bareTopics,
  bareJson,
  nats,
  natsOfDebian,
  nchan,
  socketio,
  nodeWs,
  centrifugo,
];

const isOther = (name: string): boolean => name === BEFORE || name === AGAIN;

interface Effort extends Pace {
  readonly runs: number;
  readonly slices: Slices;
  readonly settleMs: number;
}

const WHOLE: Effort = {
  runs: 5,
  slices: { ms: 100, unmeasured: 18, measured: 12 },
  warmUpMs: 500,
  measureMs: 2000,
  settleMs: 5000,
};
const QUICK: Effort = {
  runs: 1,
  slices: { ms: 100, unmeasured: 2, measured: 3 },
  warmUpMs: 200,
  measureMs: 400,
  settleMs: 1000,
};

export async function speed(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      runs: { type: "string" },
      only: { type: "string" },
      systems: { type: "string" },
      before: { type: "string" },
    },
  });
  const effort = { ...(values.quick ? QUICK : WHOLE), ...(values.runs && { runs: Number(values.runs) }) };
  const isWanted = (id: string): boolean => values.only === undefined || values.only.split(",").includes(id);
  const isAsked = ({ name }: Contender): boolean => !values.systems || values.systems.split(",").includes(name);

  const other = values.before && resolve(values.before);
  const all = other ? [parley(PARLEY), parley(BEFORE, other), parley(AGAIN, other)] : CONTENDERS.filter(isAsked);
  const isPart = Boolean(values.only ?? values.systems ?? values.before);
  const results = new Results(isPart);
  const ready: Contender[] = [];
  for (const contender of all) {
    const found = await contender.prepare();
    results.found(contender.name, found);
    if ("version" in found) ready.push(contender);
  }
  for (let run = 1; run <= effort.runs; run++) {
    console.error(`run ${run} of ${effort.runs}`);
    await measure(run, ready, effort, isWanted, results);
  }

  console.log(results.text());
  if (!isPart && !values.quick) {
    const file = await keep("", { ...machine(), effort, ...results.data() });
    await Bun.write(file.replace(/json$/, "svg"), chart(results));
    await Bun.write(file.replace(/json$/, "md"), `${results.markdown()}\n`);
    console.log(`\nwritten to ${file}; beside it a chart, and the tables of docs/performance.md`);
  }
  return results.holds;
}

/** Load by load, so that compared systems are measured within moments of each other. The others are idle meanwhile. */
async function measure(
  run: number,
  contenders: readonly Contender[],
  effort: Effort,
  isWanted: (id: string) => boolean,
  results: Results,
): Promise<void> {
  /** For a contender it is a result, for Parley an error: a lost, duplicated or reordered delivery ends the benchmark. */
  const failed = (id: string, name: string, error: unknown): void => {
    if (name === PARLEY) throw error;
    results.failed(id, name, (error as Error).message);
  };
  const note = async (id: string, name: string, work: () => Promise<Figures>): Promise<void> => {
    try {
      results.add(run, id, name, await work());
    } catch (error) {
      failed(id, name, error);
    }
  };
  const compared = (load: Load): readonly Contender[] =>
    contenders.filter(({ name }) => !load.contenders || load.contenders.includes(isOther(name) ? PARLEY : name));
  const wanted = LOADS.filter(({ id }) => isWanted(id));
  {
    await using servers = new AsyncDisposableStack();
    const running = new Map<string, Running>();
    for (const { name, start } of contenders) running.set(name, servers.use(await start()));
    for (const load of wanted) {
      const here = new Map(compared(load).map(({ name }) => [name, running.get(name) as Running]));
      if (isSliced(load)) {
        const found = await sideBySide(load, here, effort.slices, (name, error) => failed(load.id, name, error));
        for (const [name, figures] of found) results.add(run, load.id, name, figures);
      } else if (!load.isFresh) {
        for (const [name, server] of here) await note(load.id, name, () => load.run(server, effort));
      }
    }
  }
  /** Each with a server of its own: once unmeasured, then forwards and backwards, because the first after a pause is up to a quarter better. */
  const bothWays = async (
    id: string,
    [first, ...others]: readonly Contender[],
    work: (server: Running) => Promise<Figures>,
  ): Promise<void> => {
    if (!first) return;
    const found = new Map<string, Figures[]>();
    for (const [at, contender] of [first, first, ...others, ...others.toReversed(), first].entries()) {
      await using server = await contender.start();
      try {
        const figures = await work(server);
        if (at > 0) found.set(contender.name, [...(found.get(contender.name) ?? []), figures]);
      } catch (error) {
        failed(id, contender.name, error);
      }
    }
    for (const [name, figures] of found) results.add(run, id, name, meanOf(figures));
  };
  for (const load of wanted)
    if (!isSliced(load) && load.isFresh) await bothWays(load.id, compared(load), (server) => load.run(server, effort));
  if (isWanted("g")) {
    const measured = contenders.filter(({ name }) => [PARLEY, BEFORE, AGAIN, BARE_BUN].includes(name));
    await bothWays("g", measured, (server) => idleMemory(server, effort));
  }
  if (isWanted("j") && contenders.some(({ name }) => name === PARLEY)) await note("j", PARLEY, presenceStorm);
}

function meanOf(figures: readonly Figures[]): Figures {
  const [first = {}] = figures;
  const mean = (name: string): number => figures.reduce((sum, one) => sum + (one[name] ?? 0), 0) / figures.length;
  return Object.fromEntries(Object.keys(first).map((name) => [name, mean(name)]));
}
