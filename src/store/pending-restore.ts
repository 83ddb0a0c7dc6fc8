/**
 * The last step of a restore: files that are complete and checked take the names of the present ones. Several files cannot be renamed at once, so a
 * mark says that it has begun. The next process that opens the folder finishes it if the one that began it was killed.
 *
 * The files that were replaced are kept in `before-restore/` until the next restore.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { lockFile } from "../base/file-lock.ts";
import { StoreInUse } from "./contract/store.ts";

/** Where the files of a restore are made. */
export const RESTORE_FOLDER = "restore-in-progress";
/** Where those that it replaced are. */
export const REPLACED_FOLDER = "before-restore";
const MARK = "restore-ready";
const LOCK = "restore-lock";
/** SQLite keeps these beside a file; one of another file would be taken for its own. */
const SIDES = ["-wal", "-shm", "-journal"];

const LOCK_WAIT_MS = 5000;
const TRY_EVERY_MS = 20;

/** The files in RESTORE_FOLDER replace those of the same name. They are complete, and on the disk. */
export function applyRestore(dataFolder: string): void {
  rmSync(join(dataFolder, REPLACED_FOLDER), { recursive: true, force: true });
  flush(join(dataFolder, RESTORE_FOLDER));
  const mark = join(dataFolder, MARK);
  writeFileSync(`${mark}.new`, "", { mode: 0o600 });
  renameSync(`${mark}.new`, mark);
  flush(dataFolder);
  finishRestore(dataFolder);
}

/** Does nothing if no restore has been interrupted in its last step. Before that step, what a killed restore has left is not used. */
export function finishRestore(dataFolder: string): void {
  const mark = join(dataFolder, MARK);
  if (!existsSync(mark)) return;
  using _lock = waitForLock(dataFolder);
  // Another process has finished it meanwhile.
  if (!existsSync(mark)) return;
  const [made, replaced] = [join(dataFolder, RESTORE_FOLDER), join(dataFolder, REPLACED_FOLDER)];
  mkdirSync(replaced, { recursive: true, mode: 0o700 });
  for (const name of existsSync(made) ? readdirSync(made) : []) {
    // A file that was replaced already is not in the folder any more, so each step can be repeated.
    for (const side of ["", ...SIDES])
      if (existsSync(join(dataFolder, name + side)))
        renameSync(join(dataFolder, name + side), join(replaced, name + side));
    flush(replaced);
    renameSync(join(made, name), join(dataFolder, name));
    flush(dataFolder);
  }
  rmSync(made, { recursive: true, force: true });
  rmSync(mark);
  flush(dataFolder);
}

function waitForLock(dataFolder: string): Disposable {
  const untilMs = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    const lock = lockFile(join(dataFolder, LOCK));
    if (lock) return { [Symbol.dispose]: () => lock.release() };
    if (performance.now() > untilMs) throw new StoreInUse(dataFolder, "it is finishing a restore; try again");
    Bun.sleepSync(TRY_EVERY_MS);
  }
}

function flush(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}
