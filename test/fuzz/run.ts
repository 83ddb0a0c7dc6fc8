/**
 * The fuzzer, as long as it is told: sh bin/dev test/fuzz/run.ts --frames 1000000 --seed 7 [--what decode|connections]
 * Without --what it does both, a fifth of the frames through connections. The same seed decodes the same texts;
 * over connections, when a socket is cut decides what it sends next, so that runs of one seed are alike but not equal.
 */
import { parseArgs } from "node:util";
import { fuzzConnections } from "./connections.ts";
import { fuzzDecode } from "./decode.ts";

const { values } = parseArgs({
  options: {
    frames: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    what: { type: "string" },
  },
});
const frames = Number(values.frames);
const seed = Number(values.seed);
if (!Number.isSafeInteger(frames) || frames < 1 || !Number.isSafeInteger(seed))
  fail("--frames and --seed take whole numbers");
if (values.what !== undefined && !["decode", "connections"].includes(values.what))
  fail("--what is decode or connections");

const through = values.what === "connections" ? frames : values.what === "decode" ? 0 : Math.ceil(frames / 5);
console.log(JSON.stringify({ seed, frames }));
if (frames > through) console.log("decode", JSON.stringify(fuzzDecode(frames - through, seed)));
if (through > 0) console.log("connections", JSON.stringify(await fuzzConnections(through, seed)));

function fail(why: string): never {
  console.error(`fuzz: ${why}`);
  process.exit(2);
}
