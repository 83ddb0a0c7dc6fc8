/**
 * Very many recoveries, each judged by the checker:
 *   sh bin/dev test/soak/recoveries/run.ts --recoveries 1000000 --nodes 1
 *   --readers 60 --channels 6 --rate 200 --crash-every 0 (seconds between kills of a node, with SIGKILL)
 * Prints a line every five seconds and a last line of JSON, and exits with 1 if there was any violation.
 */
import { parseArgs } from "node:util";
import { recoveries } from "./recoveries.ts";
import { oneNode, threeNodes } from "./service.ts";

const { values } = parseArgs({
  options: {
    recoveries: { type: "string", default: "1000000" },
    nodes: { type: "string", default: "1" },
    readers: { type: "string", default: "60" },
    channels: { type: "string", default: "6" },
    rate: { type: "string", default: "200" },
    "crash-every": { type: "string", default: "0" },
  },
});
const crashEvery = Number(values["crash-every"]);
const service = await (values.nodes === "1" ? oneNode() : threeNodes());
let isOver = false;
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void service.stop().finally(() => process.exit(130)));
const crashes = async (): Promise<number> => {
  let count = 0;
  while (crashEvery > 0 && !isOver) {
    await Bun.sleep(crashEvery * 1000);
    if (isOver) break;
    await service.crash();
    count++;
  }
  return count;
};
const crashing = crashes();
const report = await recoveries({
  ...service,
  recoveries: Number(values.recoveries),
  readers: Number(values.readers),
  channels: Number(values.channels),
  rate: Number(values.rate),
  print: (line) => console.log(`recoveries: ${line}`),
}).finally(() => {
  isOver = true;
});
const kills = await crashing;
await service.stop();
console.log(JSON.stringify({ run: "recoveries", nodes: Number(values.nodes), kills, ...report }));
process.exit(report.problems.length === 0 ? 0 : 1);
