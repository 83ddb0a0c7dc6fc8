import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LineServer, type Lines, serveLines } from "./lines.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { controlSocket } from "./run-folder.ts";
import { SupervisorConnection, type TeamEvents } from "./supervisor-connection.ts";

const BEGIN = { type: "begin", nodeId: "n-1", slots: 3, config: {}, sources: {} } as unknown as ToWorker;

let folder: string;
let server: LineServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "supervisor-connection-test-"));
});
afterEach(() => {
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A supervisor that does this when a worker has said hello. */
function supervise(welcome: (lines: Lines<FromWorker, ToWorker>) => void): void {
  server = serveLines<FromWorker, ToWorker>(controlSocket(folder), (lines) => {
    lines.events = { received: ({ type }) => type === "hello" && welcome(lines), closed: () => undefined };
  });
}

function recorded(): { readonly seen: string[]; readonly events: TeamEvents } {
  const seen: string[] = [];
  const note = (what: string) => () => void seen.push(what);
  return { seen, events: { drain: note("drain"), reloadTls: note("reloadTls"), orphaned: note("orphaned") } };
}

test("what the supervisor sends together with the first message is not lost", async () => {
  supervise((lines) => {
    lines.send(BEGIN);
    lines.send({ type: "state", ready: 2, count: 2, isStopping: true, lead: 0, reports: {} });
    lines.send({ type: "drain" });
  });
  const { seen, events } = recorded();
  const connection = await SupervisorConnection.join(1, folder, events);
  expect(connection.state).toMatchObject({ ready: 2, isStopping: true, lead: 0 });
  expect(seen).toEqual(["drain"]);
  await connection.close();
});

test("a supervisor that ends right after the first message leaves an orphan", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  supervise((lines) => {
    lines.send(BEGIN);
    void lines.end();
  });
  const { seen, events } = recorded();
  await SupervisorConnection.join(1, folder, {
    ...events,
    orphaned: () => {
      seen.push("orphaned");
      resolve();
    },
  });
  await promise;
  expect(seen).toEqual(["orphaned"]);
});
