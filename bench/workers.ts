/**
 * The workers of one machine: what a delivery and a connect cost with several processes on one port, compared with one process, and
 * what is gained. CPU time is the sum of all processes, supervisor included, in turns on one core; throughput uses all cores.
 * docs/scale.md has the conclusions.
 *
 *   npm run bench -- workers                             one process, 2 and 4 workers, five times, about ten minutes
 *   npm run bench -- workers --quick                     once and short: to see that it works, not for conclusions
 *   npm run bench -- workers --before OTHER/src/main.ts --runs 9   also one process of another tree: is one worker slower?
 *   npm run bench -- workers --only cpu                  one part: cpu, connects, joins or throughput; --counts 2,3: other workers
 */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { keep } from "./lib/report.ts";
import type { Slices } from "./speed/slices.ts";
import { compareJoins, type JoinEffort } from "./workers/joins.ts";
import { COMPARED, compareConnects, compareCpu, compareThroughput } from "./workers/loads.ts";
import { WorkersReport } from "./workers/report.ts";
import { bareOf, before, workersOf } from "./workers/systems.ts";

const PARTS = ["cpu", "connects", "joins", "throughput"] as const;
const WHOLE: Slices = { ms: 100, unmeasured: 18, measured: 12 };
const QUICK: Slices = { ms: 100, unmeasured: 2, measured: 3 };
const WHOLE_JOINS: JoinEffort = { rooms: 40, rounds: 3, warmUps: 20 };
const QUICK_JOINS: JoinEffort = { rooms: 10, rounds: 1, warmUps: 1 };

export async function workers(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      runs: { type: "string" },
      only: { type: "string", multiple: true },
      counts: { type: "string", default: "2,4" },
      before: { type: "string" },
    },
  });
  const parts = PARTS.filter((name) => values.only === undefined || values.only.includes(name));
  if (parts.length === 0) throw new Error(`--only is one of ${PARTS.join(", ")}`);
  const runs = Number(values.runs ?? (values.quick ? 1 : 5));
  const slices = values.quick ? QUICK : WHOLE;
  const one = workersOf(1);
  const several = values.counts.split(",").map((count) => workersOf(Number(count)));
  const other = values.before ? before(resolve(values.before)) : undefined;
  const all = [one, ...several, ...(other ? [other] : [])];
  const floors = [bareOf(1), ...several.map((system) => bareOf(system.workers))];
  // More workers than cores would not gain anything.
  const onAllCores = [one, ...several.filter((system) => system.workers <= availableParallelism())];
  const report = new WorkersReport(one, several, other, floors);
  const note = report.add.bind(report);

  for (let run = 1; run <= runs; run++) {
    console.error(`run ${run} of ${runs}`);
    const inTurn = run % 2 === 1 ? all : all.toReversed();
    if (parts.includes("cpu")) await compareCpu([...inTurn, ...floors], COMPARED, { slices }, note);
    if (parts.includes("connects")) await compareConnects([...inTurn, ...floors], true, note);
    if (parts.includes("joins")) await compareJoins(inTurn, values.quick ? QUICK_JOINS : WHOLE_JOINS, note);
    if (parts.includes("throughput")) {
      await compareThroughput(onAllCores, { slices }, note);
      await compareConnects(onAllCores, false, note);
    }
  }

  console.log(report.text());
  if (!values.quick && values.only === undefined)
    console.log(`\nwritten to ${await keep("workers", { counts: values.counts, ...report.data() })}`);
  return report.holds;
}
