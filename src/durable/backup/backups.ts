/** The backups of a running node. One is made at a time: two would only slow each other down. */
import { type BackupWanted, type RunningBackup, type RunParts, startBackup } from "./run.ts";

/** A backup is being made by this node. */
export class BackupRunning extends Error {}

export class Backups {
  private running: RunningBackup | undefined;

  constructor(
    private readonly parts: RunParts,
    /** Removes what was held back meanwhile. */
    private readonly ended: () => void,
  ) {}

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** Throws BackupRunning. */
  start(wanted: BackupWanted): RunningBackup {
    if (this.running) throw new BackupRunning();
    const running = startBackup(this.parts, wanted);
    this.running = running;
    const over = (): void => {
      this.running = undefined;
      this.ended();
    };
    running.done.then(over, over);
    return running;
  }

  /** Ends the one that is being made. */
  async stop(): Promise<void> {
    const { running } = this;
    running?.stop();
    await running?.done.catch(() => undefined);
  }
}
