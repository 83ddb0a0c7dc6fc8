/**
 * The first entries of very many in some order, without sorting them all: a heap with the last of the kept ones on top. Most entries
 * cost one comparison, and the memory is that of one page.
 */
export class FirstOf<T> {
  /** Bound: `count`, which is a page and one entry more, for one request. */
  private readonly heap: T[] = [];

  constructor(
    private readonly count: number,
    private readonly isBefore: (one: T, other: T) => boolean,
  ) {}

  /** Whether `offer` would keep it now: what costs more than a comparison is checked only if so. */
  wouldKeep(entry: T): boolean {
    const { heap, count, isBefore } = this;
    const [last] = heap;
    return heap.length < count || (last !== undefined && isBefore(entry, last));
  }

  offer(entry: T): void {
    if (!this.wouldKeep(entry)) return;
    const { heap, count } = this;
    if (heap.length < count) {
      heap.push(entry);
      this.rise(heap.length - 1);
      return;
    }
    heap[0] = entry;
    this.sink();
  }

  sorted(): T[] {
    return [...this.heap].sort((one, other) => (this.isBefore(one, other) ? -1 : 1));
  }

  private rise(from: number): void {
    const { heap, isBefore } = this;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      const [entry, above] = [heap[at] as T, heap[parent] as T];
      if (!isBefore(above, entry)) return;
      heap[at] = above;
      heap[parent] = entry;
      at = parent;
    }
  }

  private sink(): void {
    const { heap, isBefore } = this;
    const entry = heap[0] as T;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = child + 1;
      if (right < heap.length && isBefore(heap[child] as T, heap[right] as T)) child = right;
      if (!isBefore(entry, heap[child] as T)) break;
      heap[at] = heap[child] as T;
      at = child;
    }
    heap[at] = entry;
  }
}
