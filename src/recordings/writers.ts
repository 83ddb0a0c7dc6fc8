/** Who is at work on which upload: one at a time. */
import { Problem } from "../protocol/codes.ts";

export class Writers {
  private readonly busy = new Map<string, Promise<unknown>>();

  get count(): number {
    return this.busy.size;
  }

  isBusy(id: string): boolean {
    return this.busy.has(id);
  }

  /** Throws, and does nothing, while somebody else is at work on it. */
  async alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.busy.has(id)) throw new Problem("upload_busy");
    const working = work();
    this.busy.set(
      id,
      working.catch(() => undefined),
    );
    try {
      return await working;
    } finally {
      this.busy.delete(id);
    }
  }

  /** Resolves when those who are at work now are done. */
  async settled(): Promise<void> {
    await Promise.all(this.busy.values());
  }
}
