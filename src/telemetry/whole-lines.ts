/**
 * Lines on a descriptor that other processes write to as well, such as the output that all workers share. The system may take a part of a
 * line only, and refuse the rest: the next line of this process then begins on a line of its own, and is readable.
 */
export class WholeLines {
  /** The last line has no end. */
  private isCut = false;

  /** `write` returns how many bytes it has taken, and throws if there is no room, or no reader. */
  constructor(private readonly write: (bytes: Uint8Array) => number) {}

  /** Never throws: the service continues without a log. */
  add(line: string): void {
    const whole = Buffer.from(this.isCut ? `\n${line}` : line);
    let taken = 0;
    try {
      while (taken < whole.length) {
        const count = this.write(whole.subarray(taken));
        if (count <= 0) break;
        taken += count;
      }
    } catch {
      // The reader of our output is slow, or has gone away.
    }
    if (taken > 0) this.isCut = taken < whole.length;
  }
}
