/** `parley up --workers`: the supervisor of several workers, until a signal stops it. */
import { type ServiceParts, startService } from "../workers/service.ts";
import { WorkerFailed } from "../workers/worker-process.ts";
import { announce } from "./announce.ts";
import { Failure, ReportedFailure } from "./errors.ts";
import { Shutdown } from "./shutdown.ts";

/** The supervisor waits for its workers, which have a timeout of their own. */
const STOP_SLACK_MS = 20_000;

export async function upWorkers(parts: Omit<ServiceParts, "command">): Promise<void> {
  const { config, count, log } = parts;
  const service = await startService({ ...parts, command: sameProgram() }).catch((error: unknown) => {
    throw error instanceof WorkerFailed ? failureOf(error) : error;
  });
  const shutdown = new Shutdown({
    stop: () => service.stop(),
    log,
    drainMaxMs: 2 * config.drainSeconds * 1000 + STOP_SLACK_MS,
    exit: (code) => {
      // After a second signal there are workers left; without their supervisor they would drain.
      service.kill();
      process.exit(code);
    },
  });
  process.on("SIGTERM", (signal) => shutdown.signalled(signal));
  process.on("SIGINT", (signal) => shutdown.signalled(signal));
  process.on("uncaughtException", (error) => shutdown.uncaught(error));
  process.on("unhandledRejection", (error) => shutdown.uncaught(error));
  process.on("SIGHUP", () => service.reloadTls());
  process.on("SIGUSR2", () => void service.reload().catch((error: Error) => log.error(error.message)));
  announce({ ...service.ready, workers: count }, config, log);
}

/** As this process was started, without its command and flags. */
const sameProgram = (): string[] => [process.execPath, ...process.execArgv, Bun.main];

const failureOf = ({ report, message }: WorkerFailed): Error =>
  report ? new ReportedFailure(report) : new Failure("worker", message);
