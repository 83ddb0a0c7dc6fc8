/**
 * The model test, as long as told: sh bin/dev test/model/run.ts --steps 1000000 --seed 7
 * Ends with 1 and the shortest way to the fault if there is one.
 */
import { parseArgs } from "node:util";
import { shortened, walks } from "./episode.ts";

const { values } = parseArgs({
  options: { steps: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
const seed = Number(values.seed);
const wanted = Number(values.steps);
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(wanted) || wanted < 1) {
  console.error("model: --steps and --seed are whole numbers, --steps at least 1");
  process.exit(2);
}
const started = performance.now();
const { steps, found, counts } = await walks(seed, wanted);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
if (!found) {
  console.log(`seed ${seed}: ${steps} steps in ${seconds} s, no counter-example`);
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  console.log(sorted.map(([what, count]) => `  ${what}: ${count}`).join("\n"));
} else {
  console.log(`seed ${seed}: a counter-example after ${steps} steps, ${seconds} s: ${found.message}`);
  const short = await shortened(found);
  console.log(`\nIn short (${short.acts.length} acts): ${short.message}\n${short.trail.join("\n")}`);
  console.log(`\n${JSON.stringify({ setting: short.setting, acts: short.acts })}`);
  process.exitCode = 1;
}
