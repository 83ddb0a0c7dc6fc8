/** A set of whole numbers, kept as ranges, so that ten thousand consecutive numbers take no more memory than one. */

/** Both ends are included. */
export type Range = readonly [first: number, last: number];

export class Ranges {
  /** Ascending, with at least one number missing between two of them. */
  private ranges: Range[];

  /** Ascending, with a gap between two. */
  constructor(ranges: readonly Range[] = []) {
    this.ranges = [...ranges];
  }

  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  get count(): number {
    return this.ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  [Symbol.iterator](): Iterator<Range> {
    return this.ranges[Symbol.iterator]();
  }

  has(number: number): boolean {
    const range = this.ranges[this.indexOf(number)];
    return range !== undefined && range[0] <= number;
  }

  add(first: number, last = first): void {
    if (last < first) return;
    const newest = this.ranges.at(-1);
    // Behind all others, with a gap.
    if (!newest || newest[1] < first - 1) {
      this.ranges.push([first, last]);
      return;
    }
    // Merges all ranges that touch or overlap the new one.
    const from = this.indexOf(first - 1);
    let to = from;
    while ((this.ranges[to]?.[0] ?? Number.POSITIVE_INFINITY) <= last + 1) to++;
    const touched = this.ranges.slice(from, to);
    const begin = Math.min(first, touched[0]?.[0] ?? first);
    const end = Math.max(last, touched.at(-1)?.[1] ?? last);
    this.ranges.splice(from, to - from, [begin, end]);
  }

  /** Returns whether the number was in the set. */
  delete(number: number): boolean {
    const at = this.indexOf(number);
    const range = this.ranges[at];
    if (!range || range[0] > number) return false;
    const [first, last] = range;
    const rest: Range[] = [];
    if (first < number) rest.push([first, number - 1]);
    if (number < last) rest.push([number + 1, last]);
    this.ranges.splice(at, 1, ...rest);
    return true;
  }

  /** The numbers from `first` to `last`. */
  within(first: number, last: number): Ranges {
    const cut = this.ranges.map(([a, b]): Range => [Math.max(a, first), Math.min(b, last)]);
    return new Ranges(cut.filter(([a, b]) => a <= b));
  }

  /** The numbers that are not in `other`. */
  without(other: Ranges): Ranges {
    const rest: Range[] = [];
    let at = 0;
    for (const [first, last] of this.ranges) {
      let begin = first;
      while ((other.ranges[at]?.[1] ?? Number.POSITIVE_INFINITY) < first) at++;
      // The last range of `other` may also overlap the next range, so `at` stays on it.
      for (let i = at; i < other.ranges.length; i++) {
        const [a, b] = other.ranges[i] as Range;
        if (a > last) break;
        if (begin < a) rest.push([begin, a - 1]);
        begin = b + 1;
      }
      if (begin <= last) rest.push([begin, last]);
    }
    return new Ranges(rest);
  }

  /** For messages: "3, 7–9 and 12 more". */
  toString(): string {
    const shown = this.ranges.slice(0, SHOWN);
    const more = this.count - new Ranges(shown).count;
    const text = shown.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
    return more > 0 ? `${text} and ${more} more` : text;
  }

  /** The index of the first range that does not end before this number. */
  private indexOf(number: number): number {
    let low = 0;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ranges[middle]?.[1] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const SHOWN = 3;
