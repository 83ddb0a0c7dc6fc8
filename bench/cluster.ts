/**
 * Several nodes: the cost of a delivery whose receiver is on another node, of presence across nodes, and of idle connections on
 * joined nodes. Compared with a single node and with plain NATS, on the same core and with the same loader; the CPU of all nodes
 * and of nats-server is summed. docs/scale.md has the conclusions.
 *
 *   npm run bench -- cluster                          everything three times, some ten minutes
 *   npm run bench -- cluster --quick                  once and short: to see that it works, not for conclusions
 *   npm run bench -- cluster --only fan-out           one part: fan-out, presence or idle
 *   npm run bench -- cluster --before other/src/main.ts   also one node of another source tree, to see what has become slower
 *   npm run bench -- cluster --system "2 nodes on NATS"   some systems, by their name in the table
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type FanOut, measureDirect, measureFanOut, type Pace } from "./cluster/fan-out.ts";
import { measureIdle } from "./cluster/idle.ts";
import { measurePresence } from "./cluster/presence.ts";
import { DIRECT, keyOf, Report } from "./cluster/report.ts";
import { ALONE, alone, BEFORE, Ground, onNats, type System } from "./cluster/systems.ts";
import { Crowds } from "./lib/crowds.ts";
import { keep, machine } from "./lib/report.ts";

const PARTS = ["fan-out", "presence", "idle"] as const;
type Part = (typeof PARTS)[number];

/** A number of subscribers that divides evenly over 1, 2 and 3 nodes. */
const CROWDS = 6;
const ON_LOADER_CORE = ["taskset", "-c", "1"] as const;

const FAN_OUTS: readonly FanOut[] = [1, 16].flatMap((inFlight) =>
  [10, 100, 1000].map((subscribers) => ({ subscribers, inFlight })),
);

/** A first run with many messages that is not counted: it includes just-in-time compilation. */
const WARM_UP: FanOut = { subscribers: 10, inFlight: 16 };

const IDLE = [ALONE, onNats(1), onNats(2), onNats(3)];

interface Effort extends Pace {
  readonly rounds: number;
}

const WHOLE: Effort = { rounds: 3, warmUpMs: 400, measureMs: 1200 };
const QUICK: Effort = { rounds: 1, warmUpMs: 200, measureMs: 400 };

export async function cluster(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      only: { type: "string", multiple: true },
      before: { type: "string" },
      system: { type: "string", multiple: true },
    },
  });
  const effort = { ...(values.quick ? QUICK : WHOLE), ...(values.rounds && { rounds: Number(values.rounds) }) };
  const parts = new Set<Part>(PARTS.filter((name) => values.only === undefined || values.only.includes(name)));
  if (parts.size === 0) throw new Error(`--only is one of ${PARTS.join(", ")}`);
  const stopped = Promise.withResolvers<never>();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => stopped.reject(new Error(`stopped by ${signal}`)));
  // Leaving this function in any way ends every started process and removes its data.
  await using processes = new AsyncDisposableStack();
  const measured = measure(
    { effort, parts, before: values.before && resolve(values.before), wanted: values.system },
    processes,
  );
  const { report, versions } = await Promise.race([measured, stopped.promise]);

  console.log(report.text());
  if (!values.quick && values.only === undefined && values.system === undefined) {
    const file = await keep("cluster", { ...machine(), ...versions, effort, ...report.data() });
    console.log(`\nwritten to ${file}`);
  }
  return report.holds;
}

interface Order {
  readonly effort: Effort;
  readonly parts: ReadonlySet<Part>;
  readonly before: string | undefined;
  /** Names of systems; default: all. */
  readonly wanted: readonly string[] | undefined;
}

async function measure({ effort, parts, before, wanted }: Order, processes: AsyncDisposableStack) {
  const ground = processes.use(await Ground.lay());
  const crowds = parts.has("presence") ? processes.use(await Crowds.start(CROWDS, ON_LOADER_CORE)) : undefined;
  const all: System[] = [
    alone(ALONE),
    ...(before ? [alone(BEFORE, before)] : []),
    ...[1, 2, 3].map((nodes) => ground.joined(nodes)),
    ground.bareNats,
  ];
  const systems = all.filter(({ name }) => wanted?.includes(name) ?? true);
  const report = new Report(systems.map(({ name }) => name));
  for (let round = 1; round <= effort.rounds; round++)
    for (const { name, start } of systems) {
      console.error(`round ${round} of ${effort.rounds}: ${name}`);
      await using system = await start();
      const isParley = system.secretKey !== undefined;
      const [beganMs, databaseBefore] = [performance.now(), ground.postgresSeconds()];
      if (parts.has("fan-out")) {
        await measureFanOut(system, WARM_UP, effort);
        for (const load of FAN_OUTS) report.add(keyOf(load), name, await measureFanOut(system, load, effort));
        const direct = await measureDirect(system, effort);
        if (direct) report.add(DIRECT, name, direct);
      }
      if (crowds && isParley && name !== BEFORE) report.presence.add(name, await measurePresence(crowds, system));
      const seconds = (performance.now() - beganMs) / 1000;
      if (system.natsPids.length > 0 && isParley)
        report.postgres.add(name, { cpu: ground.postgresSeconds() - databaseBefore, seconds });
      if (parts.has("idle") && IDLE.includes(name)) report.idle.add(name, await measureIdle(system));
    }
  return { report, versions: ground.versions };
}
