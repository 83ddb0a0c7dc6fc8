/** Claims of workers: one holder per name at a time. The embedded store has none of its own, because one process has it open. */

interface Claim {
  readonly name: string;
  readonly owner: object;
  readonly given: () => void;
}

export class Claims {
  /** By name, the holder first. Bound: the unanswered calls and the claims of the workers, which come from the code. */
  private readonly queues = new Map<string, Claim[]>();

  /** Resolves when the claim is held, with a function that gives it up. */
  async claim(name: string, owner: object): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const claim: Claim = { name, owner, given: resolve };
    const queue = this.queues.get(name);
    if (queue) queue.push(claim);
    else {
      this.queues.set(name, [claim]);
      resolve();
    }
    await promise;
    return () => this.remove(claim);
  }

  /** Gives up everything that the owner holds or waits for. */
  end(owner: object): void {
    for (const queue of [...this.queues.values()])
      for (const claim of queue.filter((one) => one.owner === owner)) this.remove(claim);
  }

  private remove(claim: Claim): void {
    const queue = this.queues.get(claim.name);
    const at = queue?.indexOf(claim) ?? -1;
    if (!queue || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.queues.delete(claim.name);
    else if (at === 0) queue[0]?.given();
  }
}
