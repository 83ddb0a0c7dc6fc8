/** `parley up --workers`: the supervisor of several workers, until a signal stops it. */
import { selfCommand } from "../../../base/self.ts";
import { Service, type ServiceParts } from "../../../workers/service.ts";
import { WorkerFailed } from "../../../workers/worker-process.ts";
import { Failure, ReportedFailure } from "../../line/errors.ts";
import { announce } from "./announce.ts";
import { onHangup } from "./hangup.ts";
import { Shutdown } from "./shutdown.ts";

/** The supervisor waits for its workers, which have a timeout of their own. */
const STOP_SLACK_MS = 20_000;

export async function upWorkers({ config, sources, nodeId, count, log }: Omit<ServiceParts, "command">): Promise<void> {
  const service = new Service({ config, sources, nodeId, count, log, command: selfCommand() });
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
  // Before the start: a signal in the middle of it must leave neither workers nor sockets behind.
  process.on("SIGTERM", (signal) => shutdown.signalled(signal));
  process.on("SIGINT", (signal) => shutdown.signalled(signal));
  process.on("uncaughtException", (error) => shutdown.uncaught(error));
  process.on("unhandledRejection", (error) => shutdown.uncaught(error));
  onHangup(
    () => service.reloadTls(),
    () => shutdown.signalled("SIGHUP"),
  );
  process.on("SIGUSR2", () => void service.reload().catch((error: Error) => log.error(error.message)));
  try {
    announce({ ...(await service.start()), workers: count }, config, log);
  } catch (error) {
    // `shutdown` ends this process.
    if (!service.isStopping) throw error instanceof WorkerFailed ? failureOf(error) : error;
  }
}

const failureOf = ({ report, message }: WorkerFailed): Error =>
  report ? new ReportedFailure(report) : new Failure("worker", message);
