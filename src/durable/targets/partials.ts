/**
 * Names of files that are being written: `<name>.<machine>-<pid>-<random>.partial`. They say which process writes them, so that a later one can
 * see that it is gone. A pid means something only where it was given: the machine is named by its host name, its boot and its pid
 * namespace, because containers share folders and have the same pids.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { isRunning } from "../../base/running-process.ts";
import { LEFTOVER_AFTER_MS } from "./target.ts";

const FORM = /^(.+)\.([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{12}\.partial$/;

export const partialName = (name: string): string =>
  `${name}.${machine()}-${process.pid}-${randomBytes(6).toString("hex")}.partial`;

/** Removes what killed writers of names that `isOurs` accepts have left. What cannot be removed is left for the next time. */
export async function removeLeftovers(folder: string, isOurs: (name: string) => boolean, nowMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, of = "", onMachine, pid] = FORM.exec(name) ?? [];
    if (of === "" || !isOurs(of)) continue;
    const path = join(folder, name);
    const isGone = onMachine === machine() && !isRunning(Number(pid));
    const modifiedMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? nowMs;
    if (isGone || nowMs - modifiedMs > LEFTOVER_AFTER_MS) await rm(path, { force: true }).catch(() => undefined);
  }
}

const machine = (): string => {
  const parts = [hostname(), textOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))];
  const namespace = textOf(() => readlinkSync("/proc/self/ns/pid"));
  return createHash("sha256")
    .update([...parts, namespace].join("\n"))
    .digest("hex")
    .slice(0, 8);
};

/** "" on systems that have no such file. */
function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
