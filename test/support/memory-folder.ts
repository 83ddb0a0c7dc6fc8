/** A temporary folder in memory. Half of what suites wait for otherwise is the disk: every commit of a test's store waits for it. */
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** `f_type` of a tmpfs. */
const TMPFS = 0x01021994;
/** What the files of all suites may take, several times over. */
const FREE_MIN_BYTES = 3 * 1024 ** 3;
/** As /tmp: PostgreSQL and some servers under test run as other users. */
const SHARED_MODE = 0o1777;

/** For `mkdtemp`: the memory, if it has room and programs may be run from it, as they may not in most containers; the disk otherwise. */
export const temporaryPlace = (): string => (hasRoom() && canRun() ? MEMORY : tmpdir());

/** A folder that takes the place of /tmp. */
export function newTemporaryFolder(place: string): string {
  const folder = mkdtempSync(join(place, "parley-test-"));
  chmodSync(folder, SHARED_MODE);
  return folder;
}

function hasRoom(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(MEMORY);
    return type === TMPFS && Math.min(bavail * bsize, freemem()) > FREE_MIN_BYTES;
  } catch {
    return false;
  }
}

function canRun(): boolean {
  const folder = mkdtempSync(join(MEMORY, "parley-test-"));
  try {
    const program = join(folder, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
    return Bun.spawnSync([program]).success;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
