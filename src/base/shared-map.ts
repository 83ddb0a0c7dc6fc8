/**
 * A map that several owners, such as applications, share. When it is full, the oldest entry of the owner that has the most is
 * forgotten: one owner alone may use all of it, and none can push out what an owner with fewer entries has.
 */
export class SharedMap<V> {
  /** In the order in which they were set. Bound: `max`; then `forgetOne` removes one. */
  private readonly values = new Map<string, V>();
  /** By owner, in the same order. Bound: the keys of `values`. */
  private readonly keysOf = new Map<string, Set<string>>();

  constructor(private readonly max: number) {}

  get size(): number {
    return this.values.size;
  }

  get(key: string): V | undefined {
    return this.values.get(key);
  }

  /** Oldest first. */
  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.values[Symbol.iterator]();
  }

  /** Behind all others, also if it was there. The key is unique over all owners. */
  set(owner: string, key: string, value: V): void {
    this.delete(owner, key);
    if (this.values.size >= this.max) this.forgetOne();
    let keys = this.keysOf.get(owner);
    if (!keys) {
      keys = new Set();
      this.keysOf.set(owner, keys);
    }
    keys.add(key);
    this.values.set(key, value);
  }

  delete(owner: string, key: string): void {
    if (!this.values.delete(key)) return;
    const keys = this.keysOf.get(owner);
    keys?.delete(key);
    if (keys?.size === 0) this.keysOf.delete(owner);
  }

  private forgetOne(): void {
    let largest: readonly [owner: string, keys: ReadonlySet<string>] | undefined;
    for (const one of this.keysOf) if (!largest || one[1].size > largest[1].size) largest = one;
    if (!largest) return;
    const [owner, keys] = largest;
    for (const oldest of keys.values().take(1)) this.delete(owner, oldest);
  }
}
