/**
 * Writes about stays whose connection is gone. They are repeated until they succeed: otherwise a stay would count as connected for as
 * long as the node lives. Per stay there is one at a time, and a stay that comes back waits for it.
 */
interface Write {
  readonly run: () => Promise<void>;
  /** The stay was put out: it must not come back before that is written. */
  readonly isFinal: boolean;
  running: Promise<void> | undefined;
  /** Connections of the stay that are on their way in. */
  arriving: number;
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

  has(id: string): boolean {
    return this.open.has(id);
  }

  /** Ignored while it is to be written that the stay was put out: that is the last that happens to it. */
  put(id: string, run: () => Promise<void>, isFinal = false): void {
    const before = this.open.get(id);
    if (before?.isFinal) return;
    const write: Write = { run, isFinal, running: undefined, arriving: 0 };
    this.open.set(id, write);
    this.start(id, write, before?.running);
  }

  /**
   * The stay is coming back: calls `enter` when nothing is being written about it. A write that has failed is not repeated meanwhile. It is given
   * up only if the stay is back: otherwise no one would write any more that it has no connection.
   */
  async arrive<T>(id: string, enter: () => Promise<T>): Promise<T> {
    const write = this.open.get(id);
    if (!write) return enter();
    write.arriving++;
    try {
      await write.running;
      // Another one may have taken its place meanwhile, and may be final.
      const next = this.open.get(id);
      if (next && next !== write) return await this.arrive(id, enter);
      if (next?.isFinal) await next.run();
      const entered = await enter();
      if (this.open.get(id) === write) this.open.delete(id);
      return entered;
    } finally {
      write.arriving--;
    }
  }

  /** Repeats what has failed. */
  retry(): void {
    for (const [id, write] of this.open) if (!write.running && write.arriving === 0) this.start(id, write, undefined);
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
