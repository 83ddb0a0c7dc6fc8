/**
 * Everything that the pages about performance state about speed, for a machine with nothing else to do: the comparison, one process
 * against another source tree, reconnects, workers, and idle connections on NATS. About an hour and a half.
 *
 *   npm run bench -- everything --before OTHER/src/main.ts
 *   npm run bench -- everything --quick      once and short: to see that it works, not for conclusions
 */
import { parseArgs } from "node:util";
import { cluster } from "./cluster.ts";
import { reconnects } from "./reconnects.ts";
import { speed } from "./speed.ts";
import { workers } from "./workers.ts";

interface Step {
  readonly about: string;
  readonly run: () => Promise<boolean>;
}

export async function everything(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: "boolean", default: false }, before: { type: "string" } },
  });
  const { quick, before } = values;
  const short = quick ? ["--quick"] : [];
  /** Pairs of runs against another tree: nine, because a difference of a twentieth must show. */
  const paired = before ? ["--before", before, ...(quick ? [] : ["--runs", "9"])] : [];
  const steps: Step[] = [
    { about: "the comparison", run: () => speed(short) },
    ...(before ? [{ about: "one process against the other tree", run: () => speed([...short, ...paired]) }] : []),
    {
      about: "reconnects after an outage",
      run: () => reconnects([...(before ? ["--before", before] : []), ...(quick ? ["--runs", "1"] : [])]),
    },
    { about: "workers", run: () => workers([...short, ...paired]) },
    { about: "idle connections, alone and on NATS", run: () => cluster([...short, "--only", "idle"]) },
  ];
  const missed: string[] = [];
  for (const { about, run } of steps) {
    console.log(`\n# ${about}\n`);
    try {
      if (!(await run())) missed.push(about);
    } catch (error) {
      // The other measurements take long and do not depend on it.
      console.error(error);
      missed.push(`${about} (ended with an error)`);
    }
  }
  console.log(missed.length > 0 ? `\na target was MISSED in: ${missed.join(", ")}` : "\nall targets hold");
  return missed.length === 0;
}
