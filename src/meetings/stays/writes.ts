/**
 * Writes about stays whose connection is gone. They are repeated until they succeed: otherwise a stay would count as connected for as
 * long as the node lives. Per stay there is one at a time, and a stay that comes back waits for it.
 */
interface Write {
  readonly run: () => Promise<void>;
  running: Promise<void> | undefined;
}

export class StayWrites {
  /**
   * By participantSession. Bound: stays whose connection has ended on this node and that the store does not know of yet. Each is
   * repeated every 5 s until the store has it.
   */
  private readonly open = new Map<string, Write>();

  constructor(private readonly failed: (error: unknown) => void) {}

  get size(): number {
    return this.open.size;
  }

  put(id: string, run: () => Promise<void>): void {
    const before = this.open.get(id)?.running;
    const write: Write = { run, running: undefined };
    this.open.set(id, write);
    this.start(id, write, before);
  }

  /** Resolves when nothing is being written about the stay. A write that has failed is given up: the stay is coming back. */
  async settled(id: string): Promise<void> {
    const write = this.open.get(id);
    if (!write) return;
    await write.running;
    if (this.open.get(id) === write) this.open.delete(id);
  }

  /** Repeats what has failed. */
  retry(): void {
    for (const [id, write] of this.open) if (!write.running) this.start(id, write, undefined);
  }

  async idle(): Promise<void> {
    await Promise.all([...this.open.values()].map(({ running }) => running));
  }

  private start(id: string, write: Write, before: Promise<void> | undefined): void {
    const attempt = async (): Promise<void> => {
      try {
        await before;
        await write.run();
        if (this.open.get(id) === write) this.open.delete(id);
      } catch (error) {
        this.failed(error);
      } finally {
        write.running = undefined;
      }
    };
    write.running = attempt();
  }
}
