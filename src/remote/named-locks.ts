/** Locks of workers by name: one holder per name at a time. The embedded store has none of its own, because one process has it open. */

interface NamedLock {
  readonly name: string;
  readonly owner: object;
  readonly given: () => void;
}

export class NamedLocks {
  /** By name, the holder first. Bound: the unanswered calls and the locks of the workers, which come from the code. */
  private readonly queues = new Map<string, NamedLock[]>();

  /** Resolves when the lock is held, with a function that gives it up. */
  async lock(name: string, owner: object): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const lock: NamedLock = { name, owner, given: resolve };
    const queue = this.queues.get(name);
    if (queue) queue.push(lock);
    else {
      this.queues.set(name, [lock]);
      resolve();
    }
    await promise;
    return () => this.remove(lock);
  }

  /** Gives up everything that the owner holds or waits for. */
  end(owner: object): void {
    for (const queue of [...this.queues.values()])
      for (const lock of queue.filter((one) => one.owner === owner)) this.remove(lock);
  }

  private remove(lock: NamedLock): void {
    const queue = this.queues.get(lock.name);
    const at = queue?.indexOf(lock) ?? -1;
    if (!queue || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.queues.delete(lock.name);
    else if (at === 0) queue[0]?.given();
  }
}
