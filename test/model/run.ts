/**
 * Runs the model test for a number of steps:
 *   sh bin/dev test/model/run.ts --steps 1000000 --seeds 100-109 --ledger model.jsonl
 *
 *   --steps      the number of acts per seed
 *   --seeds      one seed or a range; --seed is the same
 *   --world      plain, or rules: applications have channel rules, with histories, recoveries, states and graces
 *   --processes  how many seeds at a time; by default one per core
 *   --ledger     a file to which a line of JSON is added for each seed. Seeds that are in it are skipped, so that a run can be resumed
 *   --total      adds up a ledger and runs nothing
 *
 * Exits with 1 and prints the shortest walk to the fault if there is one.
 */
import { parseArgs } from "node:util";
import { CORES, header, readLedger, runSlices, seedsIn, totals } from "../support/seeds.ts";
import { type Found, type Kind, shortened, walks } from "./walks.ts";

/** Slower than this is a hang: a hundredth of what was measured. */
const STEPS_PER_SECOND_MIN = 200;
const START_SECONDS = 60;

const { values } = parseArgs({
  options: {
    steps: { type: "string", default: "100000" },
    seeds: { type: "string" },
    seed: { type: "string", default: "1" },
    processes: { type: "string", default: String(CORES) },
    ledger: { type: "string" },
    total: { type: "string" },
    world: { type: "string", default: "plain" },
    /** Does not look for the shortest walk. */
    brief: { type: "boolean", default: false },
    /** Runs one seed in this process; the parent process starts one of these per seed. */
    here: { type: "boolean", default: false },
  },
});

if (values.total !== undefined) {
  for (const total of totals(readLedger(values.total))) console.log(JSON.stringify(total));
  process.exit(0);
}
const wanted = Number(values.steps);
const seeds = seedsIn(values.seeds ?? values.seed);
if (!seeds || !Number.isSafeInteger(wanted) || wanted < 1) {
  console.error("model: --steps takes a whole number of at least 1, --seeds 7 or 100-199");
  process.exit(2);
}

const kind: Kind = values.world === "rules" ? "rules" : "plain";
const what = kind === "rules" ? "model rules" : "model";

if (values.here) await runHere(seeds[0] ?? 0);
else {
  const command = (seed: number): string[] => [
    process.execPath,
    "--no-env-file",
    import.meta.path,
    ...["--here", "--steps", String(wanted), "--seed", String(seed), "--world", kind],
  ];
  const ok = await runSlices({
    what,
    seeds,
    command,
    processes: Number(values.processes),
    maxSeconds: START_SECONDS + wanted / STEPS_PER_SECOND_MIN,
    ledger: values.ledger,
  });
  process.exit(ok ? 0 : 1);
}

async function runHere(seed: number): Promise<void> {
  const started = performance.now();
  const { steps, found, counts } = await walks(seed, wanted, kind);
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  if (found) return explain(found, steps);
  const events = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  console.log(JSON.stringify({ ...header(what, seed), count: steps, ok: true, seconds, events }));
}

async function explain(found: Found, steps: number): Promise<void> {
  console.error(`a counter-example after ${steps} steps: ${found.message}`);
  process.exitCode = 1;
  if (values.brief) return;
  const short = await shortened(found);
  console.error(`\nIn short (${short.acts.length} acts): ${short.message}\n${short.trail.join("\n")}`);
  console.error(`\n${JSON.stringify({ setting: short.setting, acts: short.acts })}`);
}
