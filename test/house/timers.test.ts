/** No timer without a boundary: an exception that leaves one drains the node. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SRC = join(import.meta.dir, "../../src");

/** Files in which a bare timer is right, and why. Folders end with a slash. */
const BARE: Readonly<Record<string, string>> = {
  "cli/": "programs that end with their command",
  "verify/": "a client, not a node",
  "engine/cluster/": "has its own boundary, which reports to the node's",
  "engine/transport/unix.ts": "catches and reports what its listener throws",
  "engine/transport/unix/": "catches and reports what its timer throws",
  "base/clock.ts": "the system's clock; a node uses it through guardedClock",
  "node/listeners.ts": "resolves a promise",
  "access/admission/block-sweep.ts": "catches and reports what a sweep throws",
  "base/repeating.ts": "catches and reports what its work throws",
  "realtime/connections/boundary.ts": "closes each connection inside the boundary",
  "http/response/streamed-array.ts": "resolves a promise",
  "store/sql/recordings/listing.ts": "resolves a promise",
  "rooms/rooms.ts": "resolves a promise",
  "telemetry/shared-check.ts": "resolves a promise",
  "telemetry/log.ts": "writes a log line, which does not throw",
  "store/sql/recordings/postgres-leases.ts": "catches what renewing throws: a lease that is not renewed ends",
  "recordings/uploads/body.ts": "cancels a reader, which rejects and does not throw",
  "http/request/call.ts": "sets an idle limit, which does not throw for a request that is over",
  "history/postgres/link.ts": "rejects a promise, and closes connections without throwing",
  "workers/":
    "catches what starting a process throws; everything else resolves a promise, sends or kills, which do not throw",
  "remote/link.ts": "rejects a promise, or catches what sending throws",
  "remote/open-changes.ts": "rejects a promise",
  "remote/worker.ts": "catches what encoding throws",
  "store/engines/postgres.ts": "catches what it throws, and retries later",
};

test("every timer of a node is inside a boundary", () => {
  const bare: string[] = [];
  for (const file of new Bun.Glob("**/*.ts").scanSync(SRC)) {
    if (/\.test\.ts$|\/testing\//.test(file)) continue;
    if (Object.keys(BARE).some((path) => file === path || (path.endsWith("/") && file.startsWith(path)))) continue;
    const text = readFileSync(join(SRC, file), "utf8");
    for (const { 0: call, index } of text.matchAll(/\b(setTimeout|setInterval|setImmediate|queueMicrotask)\(\s*/g))
      if (!/^([\w.]*guarded\(|\(\) => this\.boundary\.)/.test(text.slice(index + call.length)))
        bare.push(`${file}: ${call.trim()}`);
  }
  expect(bare).toEqual([]);
});
