/**
 * `npm run soak`: 30 minutes, 5,000 connections, 2,000 messages per second on three nodes, one of which restarts every minute.
 *   --minutes 30 --connections 5000 --rate 2000 --channel-size 5 --period 60 --upload-pause 1500 --haste 1 --workers 1
 * With more workers, each node has as many processes that serve clients, and one of them is killed each minute.
 * Prints one line per period and a last line of JSON with all numbers, and exits with 1 if there was any violation.
 */
import { parseArgs } from "node:util";
import { soak } from "./soak.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    connections: { type: "string", default: "5000" },
    rate: { type: "string", default: "2000" },
    "channel-size": { type: "string", default: "5" },
    period: { type: "string", default: "60" },
    "upload-pause": { type: "string", default: "1500" },
    haste: { type: "string", default: "1" },
    workers: { type: "string", default: "1" },
  },
});

const report = await soak({
  minutes: positive("minutes"),
  connections: positive("connections"),
  rate: positive("rate"),
  channelSize: positive("channel-size"),
  periodSeconds: positive("period"),
  uploadPauseMs: positive("upload-pause"),
  haste: positive("haste"),
  workers: positive("workers"),
  print: (line) => console.log(`soak: ${line}`),
});
console.log(JSON.stringify({ run: "soak", date: new Date().toISOString(), ...report }));
for (const line of report.violations) console.log(`VIOLATED: ${line}`);
console.log(
  report.violations.length === 0 ? "soak: nothing was violated" : `soak: ${report.violations.length} violated`,
);
process.exit(report.violations.length === 0 ? 0 : 1);

function positive(name: keyof typeof values): number {
  const number = Number(values[name]);
  if (Number.isFinite(number) && number > 0) return number;
  console.error(`soak: --${name} takes a number above 0`);
  process.exit(2);
}
