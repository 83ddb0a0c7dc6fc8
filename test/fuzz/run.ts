/**
 * The fuzzers, for any number of frames and seeds:
 *   sh bin/dev test/fuzz/run.ts --what decode --frames 1000000 --seeds 100-199 --ledger fuzz.jsonl
 *
 *   --what       decode, connections, nats, http, or http-rates (the same with the rates on); default: decode, and a fifth of
 *                the frames through connections
 *   --frames     per seed: frames, texts of nodes, or requests
 *   --seeds      one or a range; --seed is the same
 *   --processes  how many seeds at a time; by default one per core, for those that start a node one per two cores
 *   --ledger     a file that gets one line of JSON per seed. Seeds that have passed in it are skipped, which resumes a run
 *   --total      sums up a ledger and runs nothing
 *
 * The same seed decodes the same texts; over connections and HTTP the server's responses determine what is sent next, so that
 * runs of one seed are similar but not equal.
 */
import { parseArgs } from "node:util";
import { CORES, header, readLedger, runSlices, seedsIn, totals } from "../support/seeds.ts";
import { fuzzConnections } from "./connections.ts";
import { fuzzDecode } from "./decode.ts";
import { fuzzHttp } from "./http.ts";
import { fuzzNats } from "./nats.ts";

interface Figures {
  readonly frames: number;
  readonly seconds: number;
}

const WORK: Readonly<Record<string, (frames: number, seed: number) => Figures | Promise<Figures>>> = {
  decode: fuzzDecode,
  connections: fuzzConnections,
  nats: fuzzNats,
  http: fuzzHttp,
  "http-rates": (frames, seed) => fuzzHttp(frames, seed, { rates: true }),
};
/** These start a node as well. */
const WITH_NODE = ["connections", "http", "http-rates"];
/** A slower run is a hang: a hundredth of the measured speed. */
const FRAMES_PER_SECOND_MIN = 200;
const START_SECONDS = 120;

const { values } = parseArgs({
  options: {
    what: { type: "string" },
    frames: { type: "string", default: "1000000" },
    seeds: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    processes: { type: "string" },
    ledger: { type: "string" },
    total: { type: "string" },
    /** Runs this one seed in this process: used for each slice. */
    here: { type: "boolean", default: false },
  },
});

if (values.total !== undefined) {
  for (const total of totals(readLedger(values.total))) console.log(JSON.stringify(total));
  process.exit(0);
}
const frames = Number(values.frames);
const seeds = seedsIn(values.seeds ?? values.seed);
if (!Number.isSafeInteger(frames) || frames < 1 || !seeds) fail("--frames takes a whole number, --seeds 7 or 100-199");
if (values.what !== undefined && !(values.what in WORK)) fail(`--what is one of ${Object.keys(WORK).join(", ")}`);

if (values.here) await runHere(values.what ?? "decode", seeds[0] ?? 0);
else {
  const parts: readonly (readonly [string, number])[] =
    values.what === undefined
      ? [
          ["decode", frames - Math.ceil(frames / 5)],
          ["connections", Math.ceil(frames / 5)],
        ]
      : [[values.what, frames]];
  let ok = true;
  for (const [what, count] of parts) {
    const processes = Number(values.processes ?? (WITH_NODE.includes(what) ? Math.max(1, CORES / 2) : CORES));
    const command = (seed: number): string[] => [
      process.execPath,
      "--no-env-file",
      import.meta.path,
      ...["--here", "--what", what, "--frames", String(count), "--seed", String(seed)],
    ];
    const maxSeconds = START_SECONDS + count / FRAMES_PER_SECOND_MIN;
    ok = (await runSlices({ what, seeds, command, processes, maxSeconds, ledger: values.ledger })) && ok;
  }
  process.exit(ok ? 0 : 1);
}

async function runHere(what: string, seed: number): Promise<void> {
  const work = WORK[what];
  if (!work) return fail(`there is no ${what}`);
  try {
    const { frames: count, seconds, ...figures } = await work(frames, seed);
    const line = { ...header(what, seed), count, ok: true, seconds: Math.round(seconds * 10) / 10, ...figures };
    console.log(JSON.stringify(line));
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

function fail(why: string): never {
  console.error(`fuzz: ${why}`);
  process.exit(2);
}
