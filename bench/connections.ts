/**
 * Many connections: the memory of each, whether connecting and disconnecting leaks memory, and what happens when all peers
 * connect at once. The server is a separate process, the peers are in others, over loopback.
 *
 *   npm run bench -- connections                     everything, some four minutes
 *   npm run bench -- connections --wait 10           measures sooner after the load
 *   npm run bench -- connections --only storm        one part: memory, cycles or storm
 *   npm run bench -- connections --only storm --metadata 600   with rosters that are sent in parts
 *   npm run bench -- connections --main other/src/main.ts   the server of another source tree
 *
 * Targets are counts and bytes, never times: those depend on the machine.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeCycles, measureCycles } from "./connections/cycles.ts";
import { describeMemory, measureMemory, type Subject } from "./connections/memory.ts";
import { describeStorms, measureStorms } from "./connections/storm.ts";
import { Crowds } from "./lib/crowds.ts";
import { startParley } from "./lib/parley.ts";
import { type ServerProcess, startServer } from "./lib/process.ts";
import { keep, machine } from "./lib/report.ts";

const CONTROL = join(import.meta.dir, "controls/bare-topics.ts");
const CROWDS = 2;
const PARTS = ["memory", "cycles", "storm"] as const;
type PartName = (typeof PARTS)[number];

interface Options {
  readonly parts: ReadonlySet<PartName>;
  readonly connections: number;
  readonly waitMs: number;
  /** Number of cycles. */
  readonly scale: number;
  /** Metadata of the storm's peers, in addition to a name. */
  readonly metadataBytes: number;
  readonly main: string | undefined;
  readonly isWhole: boolean;
}

export async function connections(args: readonly string[]): Promise<boolean> {
  const options = optionsFrom(args);
  const stopped = Promise.withResolvers<never>();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => stopped.reject(new Error(`stopped by ${signal}`)));
  // Leaving this function in any way ends every started process and removes its data.
  await using processes = new AsyncDisposableStack();
  return await Promise.race([measure(options, processes), stopped.promise]);
}

async function measure(options: Options, processes: AsyncDisposableStack): Promise<boolean> {
  const { parts } = options;
  const { bun, cpu, cores } = machine();
  console.log(`Bun ${bun}, ${cpu}, ${cores} cores; peers in ${CROWDS} other processes`);
  const crowds = processes.use(await Crowds.start(CROWDS));
  // A new server for each part: memory that one part leaves behind would hide what the next one adds.
  const parley = async (): Promise<Subject> =>
    subject("parley", processes.use(await startParley({ main: options.main })));
  const control = async (): Promise<Subject> => subject("bare topics", processes.use(await startServer([CONTROL])));

  const memory = parts.has("memory")
    ? shown(describeMemory, await measureMemory(crowds, [await parley(), await control()], options))
    : undefined;
  const cycles = parts.has("cycles")
    ? shown(describeCycles, await measureCycles(crowds, await parley(), options.scale))
    : undefined;
  const storm = parts.has("storm")
    ? shown(describeStorms, await measureStorms(crowds, await parley(), options))
    : undefined;

  const judged = [memory ?? [], cycles ?? [], storm ?? []].flat();
  const holds = judged.every((one) => one.holds);
  console.log(`\n${holds ? "all targets hold" : "a target was MISSED"}`);
  // Only a complete run is worth comparing with later ones.
  if (options.isWhole) console.log(`written to ${await keep("connections", { memory, cycles, storm, holds })}`);
  return holds;
}

const subject = (name: string, { pid, url, secretKey = "" }: ServerProcess & { secretKey?: string }): Subject => ({
  name,
  pid,
  url,
  secretKey,
});

function shown<Figures>(describe: (figures: Figures) => string, figures: Figures): Figures {
  console.log(`\n${describe(figures)}`);
  return figures;
}

function optionsFrom(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true },
      connections: { type: "string", default: "10000" },
      wait: { type: "string", default: "60" },
      scale: { type: "string", default: "1" },
      metadata: { type: "string", default: "0" },
      main: { type: "string" },
    },
  });
  const parts = PARTS.filter((name) => values.only === undefined || values.only.includes(name));
  if (parts.length === 0) throw new Error(`--only is one of ${PARTS.join(", ")}`);
  return {
    parts: new Set(parts),
    connections: Number(values.connections),
    waitMs: Number(values.wait) * 1000,
    scale: Number(values.scale),
    metadataBytes: Number(values.metadata),
    main: values.main && resolve(values.main),
    isWhole: args.length === 0,
  };
}
