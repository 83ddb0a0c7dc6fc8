/** Whether a process is still the one that it was: the system gives the number of a process that has ended to another one. */
import { readFileSync } from "node:fs";

/** The same for one process as long as it runs, and different for each process; undefined if it has ended. */
export const processMark = (pid: number): string | undefined =>
  process.platform === "linux" ? markInProc(pid) : ps("lstart=", pid);

const ENDED = ["Z", "X"];
/** In proc(5): the state is field 3, the start is field 22, in ticks since the boot. */
const START_AFTER_STATE = 19;

function markInProc(pid: number): string | undefined {
  try {
    // Starts of this machine, and other machines, have ticks of their own: a folder may be shared.
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it is in parentheses, and may contain any character.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return ENDED.includes(fields[0] ?? "") ? undefined : `${boot} ${fields[START_AFTER_STATE]}`;
  } catch {
    return undefined;
  }
}

/** The id of the user whose rights it has; undefined if it has ended. */
export function processOwner(pid: number): number | undefined {
  const uid = process.platform === "linux" ? ownerInProc(pid) : ps("uid=", pid);
  return uid === undefined ? undefined : Number(uid);
}

/** In proc(5): real, effective, saved and file system id. */
function ownerInProc(pid: number): string | undefined {
  try {
    return /^Uid:\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

function ps(column: string, pid: number): string | undefined {
  // Its times would otherwise depend on the language and the time zone of who asks.
  const env = { PATH: process.env.PATH ?? "", LC_ALL: "C", TZ: "UTC" };
  const { stdout, success } = Bun.spawnSync(["ps", "-o", column, "-p", String(pid)], { env, stderr: "ignore" });
  return (success && stdout.toString().trim()) || undefined;
}
