/**
 * For tests: a program that the supervisor takes for a worker. It is ready at once, and notes in a file of the sockets' folder what it has
 * received. Files there say otherwise: `fail-<slot>` ends a start, `hold-<slot>` keeps it from becoming ready until it is removed.
 * SIGUSR1: it drains by itself. SIGUSR2: it reports a problem.
 */
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../test/support/wait.ts";
import { connectLines } from "../lines.ts";
import type { FromWorker, ToWorker } from "../messages.ts";
import { controlSocket } from "../run-folder.ts";

const [slot = "", folder = ""] = process.argv.slice(3);
const note = (what: object): void =>
  appendFileSync(join(folder, "notes"), `${JSON.stringify({ slot: Number(slot), pid: process.pid, ...what })}\n`);
const is = (what: string): boolean => existsSync(join(folder, `${what}-${slot}`));

const lines = await connectLines<ToWorker, FromWorker>(controlSocket(folder), {
  received: (message) => {
    if (message.type === "begin") void begin();
    if (message.type === "state") {
      const { lead, ready, serving, reports } = message;
      note({ lead, ready, serving, reports });
    }
    if (message.type === "drain") process.exit(0);
  },
  closed: () => process.exit(1),
});
lines.send({ type: "hello", slot: Number(slot), pid: process.pid });
setInterval(() => lines.send({ type: "beat" }), 200);
process.on("SIGUSR2", () => lines.send({ type: "report", found: { nats: `unreachable from ${slot}` } }));
process.on("SIGUSR1", () => lines.send({ type: "draining" }));

async function begin(): Promise<void> {
  note({ begun: true });
  if (is("fail")) process.exit(1);
  await until("it is not held any more", () => !is("hold"));
  lines.send({ type: "ready", url: "", host: "", adminUrl: "", port: 0, adminPort: 0 });
}
