import { expect, test } from "bun:test";
import { availableParallelism, totalmem } from "node:os";
import { chosenWorkers, type Machine, thisMachine } from "./count.ts";

const GIB = 1024 ** 3;
const machine = (parts: Partial<Machine>): Machine => ({
  canSharePorts: true,
  cores: 4,
  memoryBytes: 16 * GIB,
  hasServers: false,
  ...parts,
});
const auto = (parts: Partial<Machine>) => chosenWorkers("auto", () => machine(parts));

test("a number is taken as it is, and the machine is not looked at", () => {
  const fail = (): never => {
    throw new Error("read");
  };
  expect(chosenWorkers(3, fail)).toEqual({ count: 3 });
});

test.each([
  [1, 1, "1 process, because this service may use 1 core"],
  [2, 2, "2 workers, because this service may use 2 cores"],
  [16, 16, "16 workers, because this service may use 16 cores"],
  [128, 64, "64 workers, because there are at most 64"],
])("auto with %i cores: %i", (cores, count, why) => {
  expect(auto({ cores, memoryBytes: 64 * GIB })).toEqual({ count, why });
});

test.each([
  [1, 1, "this service may use 1 core"],
  [2, 2, "this service may use 2 cores"],
  [3, 2, "this service may use 3 cores, and leaves 1 of them for PostgreSQL and NATS on this machine"],
  [8, 7, "this service may use 8 cores, and leaves 1 of them for PostgreSQL and NATS on this machine"],
  [16, 13, "this service may use 16 cores, and leaves 3 of them for PostgreSQL and NATS on this machine"],
])("auto leaves a sixth of %i cores to PostgreSQL and NATS on the same machine", (cores, count, reason) => {
  const found = auto({ cores, hasServers: true });
  expect([found.count, found.why?.split(", because ")[1]]).toEqual([count, reason]);
});

test.each([
  [
    128 * 1024 ** 2,
    1,
    "1 process, because this service may use 128 MiB of memory, and each worker should have 256 MiB",
  ],
  [GIB, 4, "4 workers, because this service may use 1024 MiB of memory, and each worker should have 256 MiB"],
  [2 * GIB, 8, "8 workers, because this service may use 8 cores"],
])("auto with %i bytes of memory: %i workers on 8 cores", (memoryBytes, count, why) => {
  expect(auto({ cores: 8, memoryBytes })).toEqual({ count, why });
});

test("auto where processes cannot share a port: one process", () => {
  expect(auto({ canSharePorts: false })).toEqual({
    count: 1,
    why: "1 process, because workers share a port on Linux only",
  });
});

test("this machine has the cores and the memory that the system says", () => {
  const found = thisMachine(true);
  expect([found.cores, found.hasServers]).toEqual([availableParallelism(), true]);
  expect(found.memoryBytes).toBeGreaterThan(0);
  expect(found.memoryBytes).toBeLessThanOrEqual(totalmem());
});
