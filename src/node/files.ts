/** What a node does before its open files run out: it refuses connects or, as one of several workers, leaves them to the others. */

import { FileReserve } from "../http/server/file-reserve.ts";
import { countOpenFiles } from "../http/server/head-limit.ts";
import type { Listeners } from "./listeners.ts";
import type { NodeContext } from "./parts/context.ts";
import { openFilesLimit } from "./status/facts.ts";

/** One turn of the event loop. The system resets connections that wait when a port closes: those are accepted before. */
const ACCEPT_WAITING_MS = 1;

type FilesContext = Pick<NodeContext, "log" | "metrics" | "faults" | "team">;

export function buildFiles(
  { log, metrics, faults, team }: FilesContext,
  listeners: Pick<Listeners<unknown>, "pause" | "resume">,
): FileReserve {
  const limit = openFilesLimit();
  const guarded = (callback: () => void): (() => void) => faults.guarded("timer", callback);
  const files = new FileReserve({
    openFiles: countOpenFiles,
    limit,
    changed: (isFull) => {
      team?.full(isFull);
      if (isFull) log.warn({ limit }, FULL);
      else log.info("enough files are free again: accepting connections");
    },
    guarded,
  });
  let isPaused = false;
  const apply = (): void => (isPaused ? listeners.pause() : listeners.resume());
  team?.onPause((toPause) => {
    isPaused = toPause;
    setTimeout(guarded(apply), ACCEPT_WAITING_MS);
  });
  metrics.gauge("process_open_fds", "Open files; each connection is one.", countOpenFiles);
  if (!Number.isFinite(limit)) return files;
  metrics.gauge("process_max_fds", "How many files may be open.", () => limit);
  metrics.gauge(
    "parley_files_full",
    "1: new connections are refused, because almost all available files are open.",
    () => Number(files.isFull),
  );
  return files;
}

const FULL =
  "almost all files that this process may open are open: it refuses new connections until some end. Raise the limit (ulimit -n, LimitNOFILE), or start more nodes or workers";
