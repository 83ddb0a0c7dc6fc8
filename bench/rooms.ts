/**
 * What it costs the service that people enter rooms: CPU of a join over HTTP, its connect and its subscribe, against a plain connect and
 * subscribe in the same run; and of one signal between two pages. Raw clients, one node, the embedded store.
 *
 *   npm run bench -- rooms                            100 rooms of four people, five rounds, about a minute
 *   npm run bench -- rooms --quick                    once and briefly: to see that it works, not for conclusions
 *   npm run bench -- rooms --main other/src/main.ts   the service of another source tree
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { keep, machine, median, table } from "./lib/report.ts";
import { startNode } from "./rooms/node.ts";
import { PER_ROOM } from "./rooms/people.ts";
import { type Effort, measureRounds, type Round } from "./rooms/rounds.ts";

const TARGET_RATIO = 3;
const WHOLE: Effort = { rooms: 100, rounds: 5, warmUps: 40 };
const QUICK: Effort = { rooms: 20, rounds: 2, warmUps: 2 };

const ENTERING = ["join", "connect", "subscribe"];
const PLAIN = ["plain connect", "plain subscribe"];

export async function rooms(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      main: { type: "string" },
    },
  });
  const effort = { ...(values.quick ? QUICK : WHOLE), ...(values.rounds && { rounds: Number(values.rounds) }) };
  const { bun, cpu, cores } = machine();
  console.log(`Bun ${bun}, ${cpu}, ${cores} cores; ${effort.rooms} rooms of ${PER_ROOM}, ${effort.rounds} rounds\n`);
  await using node = await startNode({ main: values.main && resolve(values.main) });
  return report(await measureRounds(node, effort), effort);
}

/** The middle of the rounds; the ratio is taken within each round. */
export function judged(rounds: readonly Round[]) {
  const sum = ({ steps }: Round, names: readonly string[]): number =>
    names.reduce((all, name) => all + (steps[name] ?? Number.NaN), 0);
  const figures: [name: string, of: (round: Round) => number][] = [
    ...PLAIN.map((name): [string, (round: Round) => number] => [name, (one) => sum(one, [name])]),
    ["plain, together", (one) => sum(one, PLAIN)],
    ...ENTERING.map((name): [string, (round: Round) => number] => [name, (one) => sum(one, [name])]),
    ["entering, together", (one) => sum(one, ENTERING)],
    ["a signal", ({ usPerSignal }) => usPerSignal],
  ];
  const ratios = rounds.map((one) => sum(one, ENTERING) / sum(one, PLAIN));
  const ratio = median(ratios);
  return {
    rows: figures.map(([name, of]) => ({ name, us: median(rounds.map(of)), worst: Math.max(...rounds.map(of)) })),
    ratio,
    ratios,
    holds: ratio <= TARGET_RATIO,
  };
}

async function report(rounds: readonly Round[], effort: Effort): Promise<boolean> {
  const { rows, ratio, ratios, holds } = judged(rounds);
  const cells = rows.map(({ name, us, worst }) => [name, us.toFixed(0), worst.toFixed(0)]);
  console.log(table(["CPU of the service per participant, µs", "median", "worst round"], cells));
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  console.log(`\nratio ${ratio.toFixed(2)} (${range}), target at most ${TARGET_RATIO}: ${holds ? "holds" : "MISSED"}`);
  const result = { ...effort, perRoom: PER_ROOM, rounds, rows, ratio, ratios, target: TARGET_RATIO, holds };
  console.log(`written to ${await keep("rooms", result)}`);
  return holds;
}
