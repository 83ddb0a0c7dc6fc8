/** Values that a call names by their number, from 1: each of them is sent once. */
export class Numbered<T> {
  /** Bound: what one call names. */
  readonly values: T[] = [];
  /** Bound: as `values`. */
  private readonly numbers = new Map<string, number>();

  numberOf(key: string, value: () => T): number {
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    this.values.push(value());
    this.numbers.set(key, this.values.length);
    return this.values.length;
  }
}
