/** `npm run bench -- NAME`: measures one thing, prints it, and exits with 1 if it misses its target. */
import { connections } from "./connections.ts";
import { recordings } from "./recordings.ts";
import { tokens } from "./tokens.ts";

interface Bench {
  readonly about: string;
  /** Whether the target holds. What stands behind the name on the command line is its own. */
  readonly run: (args: readonly string[]) => Promise<boolean>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  connections: { about: "memory a connection, memory after cycles, frames and time of a join storm", run: connections },
  recordings: { about: "pages and totals among a million rows, memory while 4 GiB go in and out", run: recordings },
  tokens: { about: "server CPU per minted token, against a bare server that parses and answers the same", run: tokens },
};

const [name, ...args] = process.argv.slice(2);
const bench = name !== undefined && Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
if (bench) process.exit((await bench.run(args)) ? 0 : 1);

if (name !== undefined) console.error(`bench: there is no "${name}"`);
console.log("npm run bench -- NAME, where NAME is one of\n");
for (const [one, { about }] of Object.entries(BENCHES)) console.log(`  ${one.padEnd(12)} ${about}`);
process.exit(name === undefined ? 0 : 2);
