/** The points at which a service can be killed: clients announce what they are about to do, and the killer waits for one of them. */
export const POINTS = ["any", "upload", "completion", "mending", "deletion"] as const;
export type Point = (typeof POINTS)[number];

export class Points {
  private readonly waiting = new Map<Point, (() => void)[]>();

  announce(point: Point): void {
    const all = this.waiting.get(point) ?? [];
    this.waiting.delete(point);
    for (const wake of all) wake();
  }

  /** Resolves when it is announced, at the latest after `maxMs`. */
  async next(point: Point, maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxMs);
    this.waiting.set(point, [...(this.waiting.get(point) ?? []), resolve]);
    await promise;
    clearTimeout(timer);
  }
}
