/** Whether a server runs on a data folder. The file of its store is not opened for that: SQLite would make files beside it. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { sqliteFile } from "../../../store/open.ts";
import { serverOn } from "../../calls/running-server.ts";

export type Running =
  /** `who` names it for people. `version`: undefined if it does not note that. */
  | { readonly state: "running"; readonly who: string; readonly version: string | undefined }
  | { readonly state: "stopped" }
  /** It may be running where it cannot be seen from here. */
  | { readonly state: "unclear"; readonly why: string };

export function runningOn(dataFolder: string): Running {
  const noted = serverOn(dataFolder, true);
  if (noted.state === "running")
    return { state: "running", who: `${noted.url} (process ${noted.pid})`, version: noted.version };
  const file = sqliteFile(dataFolder);
  const pid = lockedBy(file);
  // 0.1.0 writes no note.
  if (pid !== undefined) return { state: "running", who: `process ${pid}`, version: undefined };
  if (hasLog(file))
    return {
      state: "unclear",
      why: "the last server was killed, or one is running in another container or on another machine",
    };
  return { state: "stopped" };
}

/** A server that stops leaves none. */
const hasLog = (file: string): boolean => (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** SQLite locks bytes from here on, behind everything that it stores. */
const LOCKED_FROM = 0x40000000;

/** The process that has the file locked, as Linux lists it; undefined: none that is visible here. */
function lockedBy(file: string): number | undefined {
  if (!existsSync(file) || !existsSync("/proc/locks")) return undefined;
  const { ino } = statSync(file);
  // `2: POSIX  ADVISORY  WRITE 4321 fe:01:1234567 1073741826 1073742335`
  const lock = new RegExp(`^\\d+: POSIX +ADVISORY +WRITE +(\\d+) [0-9a-f]+:[0-9a-f]+:${ino} (\\d+) `, "gm");
  for (const [, pid, from] of readFileSync("/proc/locks", "utf8").matchAll(lock))
    if (Number(from) >= LOCKED_FROM) return Number(pid);
  return undefined;
}
