/**
 * `npm run bench` compares Parley with the limits of the machine and with its competitors; `npm run bench -- NAME` runs one
 * other benchmark. Prints the results, and exits with 1 if a target is missed.
 */
import { backup } from "./backup.ts";
import { chart } from "./chart.ts";
import { cluster } from "./cluster.ts";
import { connections } from "./connections.ts";
import { openConsole } from "./console.ts";
import { everything } from "./everything.ts";
import { history } from "./history.ts";
import { lists } from "./lists.ts";
import { many } from "./many.ts";
import { reconnects } from "./reconnects.ts";
import { recordings } from "./recordings.ts";
import { rooms } from "./rooms.ts";
import { speed } from "./speed.ts";
import { storms } from "./storms.ts";
import { streams } from "./streams.ts";
import { tokens } from "./tokens.ts";
import { webhooks } from "./webhooks.ts";
import { workers } from "./workers.ts";

interface Bench {
  readonly about: string;
  /** Returns whether the target is met. Arguments after the name on the command line are the benchmark's own. */
  readonly run: (args: readonly string[]) => Promise<boolean>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  backup: {
    about: "5 GB of recordings and 1,000,000 messages: time, memory, what publishers notice; restore",
    run: backup,
  },
  chart: { about: "draws the chart of docs/performance.md anew, from the first table of that page", run: chart },
  cluster: { about: "a delivery and a join over several nodes, against one node and against plain NATS", run: cluster },
  console: { about: "CPU per published frame with the live tail open, against closed", run: openConsole },
  connections: {
    about: "memory per connection, memory after cycles, frames and time of a join storm",
    run: connections,
  },
  everything: {
    about: "the comparison, one process against --before, reconnects, workers, idle connections on NATS",
    run: everything,
  },
  history: { about: "a publish with history and a recovery, against the same without", run: history },
  lists: { about: "CPU of a page of each live list, with 50,000 connections and 10,000 channels", run: lists },
  many: { about: "250,000 connections held: memory, CPU at rest, stalls; --steps 18000,50000, --quick", run: many },
  reconnects: { about: "20,000 reconnects after an outage; --before OTHER/src/main.ts", run: reconnects },
  recordings: {
    about: "pages and totals among a million rows, memory while 4 GiB go in and out, CPU of a recording stream",
    run: recordings,
  },
  rooms: { about: "CPU of a join, its connect and its subscribe, against a plain connect and subscribe", run: rooms },
  storms: {
    about: "18,000 clients come back after a kill: time, CPU, stalls, peak of memory; --only node",
    run: storms,
  },
  streams: {
    about: "CPU of a delivery over HTTP against WebSocket, memory of a reader, a message to 10,000 readers, a page",
    run: streams,
  },
  tokens: {
    about: "server CPU per minted token, against a minimal server that parses and answers the same",
    run: tokens,
  },
  webhooks: { about: "1,000 events a second to ten endpoints; (a) and (f) with 30 endpoints that hang", run: webhooks },
  workers: { about: "a delivery and a connect with several workers on one port, against one process", run: workers },
};

const COMPARISON: Bench = { about: "against the limits of the machine and its competitors (no name)", run: speed };

const given = process.argv.slice(2);
const [name = "", ...rest] = given;
const isNamed = name !== "" && !name.startsWith("--");
const bench = isNamed ? (Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined) : COMPARISON;
if (bench && name !== "--help") process.exit((await bench.run(isNamed ? rest : given)) ? 0 : 1);

if (!bench) console.error(`bench: there is no "${name}"`);
console.log("npm run bench, or npm run bench -- NAME, where NAME is one of\n");
for (const [one, { about }] of Object.entries(BENCHES)) console.log(`  ${one.padEnd(12)} ${about}`);
console.log(`\nWithout a name: ${COMPARISON.about}; --quick, --runs N, --only a,k1, --systems Parley,NATS`);
process.exit(bench ? 0 : 2);
