/** What happens to the processes of a service, and what has to follow. Each leaves the service whole. */
import { expect } from "bun:test";
import { runParley } from "../../support/parley.ts";
import type { Chance } from "../../support/random.ts";
import { until } from "../../support/wait.ts";
import type { Service } from "./service.ts";
import { isRunning } from "./workers.ts";

export type Fault = (service: Service, chance: Chance) => Promise<void>;

/** Shorter than what a worker may be silent for. */
const PAUSE_MAX_MS = 1500;
/** The supervisor may be away for longer: workers go on without the stores. */
const SUPERVISOR_PAUSE_MAX_MS = 4000;
/** Workers end within 2 s of their supervisor; later under this load, with which the next start competes for the same cores. */
const ORPHANED_MAX_MS = 7000;

const killWorker: Fault = async (service, chance) => {
  const { server } = service.world;
  const skip = server.log.length;
  process.kill(chance.pick(service.workers), "SIGKILL");
  await server.logged(({ msg }) => msg === "worker is ready", skip);
};

const stopWorker: Fault = async (service, chance) => {
  const { server } = service.world;
  const skip = server.log.length;
  const pid = chance.pick(service.workers);
  process.kill(pid, "SIGSTOP");
  await server.logged(({ msg }) => msg.startsWith("a worker was silent"), skip);
  await server.logged(({ msg }) => msg === "worker is ready", skip);
  expect(isRunning(pid)).toBe(false);
};

const pauseWorker: Fault = async (service, chance) => {
  const pid = chance.pick(service.workers);
  process.kill(pid, "SIGSTOP");
  await Bun.sleep(chance.below(PAUSE_MAX_MS));
  // A busy machine may have taken longer, and the worker is gone.
  if (isRunning(pid)) process.kill(pid, "SIGCONT");
};

const killTwo: Fault = async (service) => {
  const { server } = service.world;
  const skip = server.log.length;
  const [one = 0, other = 0] = service.workers;
  for (const pid of [one, other]) process.kill(pid, "SIGKILL");
  await until(
    "two workers are not replaced",
    () => server.log.slice(skip).filter(({ msg }) => msg === "worker is ready").length >= 2,
  );
};

const pauseSupervisor: Fault = async (service, chance) => {
  process.kill(service.supervisor, "SIGSTOP");
  await Bun.sleep(chance.below(SUPERVISOR_PAUSE_MAX_MS));
  process.kill(service.supervisor, "SIGCONT");
};

/** It is started again at once: the workers that it has left still hold the port. */
const killSupervisor: Fault = async (service) => {
  const pids = service.workers;
  process.kill(service.supervisor, "SIGKILL");
  const ended = until("workers run without a supervisor", () => !pids.some(isRunning));
  await service.startAgain();
  expect(await ended).toBeLessThan(ORPHANED_MAX_MS);
};

/** A stopped worker cannot end with its supervisor: the next start kills it, which would otherwise get half of the connections. */
const killSupervisorOfStopped: Fault = async (service, chance) => {
  const pids = service.workers;
  process.kill(chance.pick(pids), "SIGSTOP");
  process.kill(service.supervisor, "SIGKILL");
  await service.startAgain();
  expect(pids.filter(isRunning)).toEqual([]);
};

const reload: Fault = async (service) => {
  const { code, output } = await runParley(["reload", "--data", service.world.server.data]);
  expect([code, output]).toEqual([0, expect.any(String)]);
};

export const FAULTS: Readonly<Record<string, Fault>> = {
  "a worker is killed": killWorker,
  "a worker is stopped": stopWorker,
  "a worker is paused": pauseWorker,
  "two workers are killed": killTwo,
  "the supervisor is paused": pauseSupervisor,
  "the supervisor is killed": killSupervisor,
  "the supervisor of a stopped worker is killed": killSupervisorOfStopped,
  "a reload": reload,
};
