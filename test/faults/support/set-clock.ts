/** A clock on the wall that a test sets, for real processes: a library that is loaded before the C library (set-clock.c). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder, tempFolder } from "../../support/temp.ts";

const SOURCE = join(import.meta.dir, "set-clock.c");

/** Where there is no C compiler, or no Linux, these tests cannot run. */
export const CAN_SET_CLOCK = process.platform === "linux" && Bun.which("cc") !== null;

export class SetClock implements Disposable {
  private readonly folder = tempFolder();
  private readonly file = join(this.folder, "offset");
  private readonly library = join(this.folder, "set-clock.so");
  private offsetMs = 0;

  constructor() {
    const { success, stderr } = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O1", "-o", this.library, SOURCE]);
    if (!success) throw new Error(`the library was not compiled: ${stderr.toString()}`);
    this.write();
  }

  /** For the processes whose clock this is. */
  get env(): Readonly<Record<string, string>> {
    return { LD_PRELOAD: this.library, SET_CLOCK_FILE: this.file };
  }

  /** Unix ms, as those processes see it. */
  get nowMs(): number {
    return Date.now() + this.offsetMs;
  }

  /** Sets it, by this much. */
  by(ms: number): void {
    this.offsetMs += ms;
    this.write();
  }

  [Symbol.dispose](): void {
    removeFolder(this.folder);
  }

  /** In place: the file is mapped. */
  private write(): void {
    const bytes = new BigInt64Array([BigInt(this.offsetMs)]);
    writeFileSync(this.file, new Uint8Array(bytes.buffer), { flag: this.offsetMs === 0 ? "w" : "r+" });
  }
}
