/** How long to wait before something is tried again: longer each time, and never all pages at the same moment. */

const FIRST_MS = 500;
const LONGEST_MS = 20_000;

export class Patience {
  #tries = 0;

  constructor(private readonly random: () => number = Math.random) {}

  worked(): void {
    this.#tries = 0;
  }

  nextMs(): number {
    const ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#tries++);
    return ms * (0.5 + this.random() / 2);
  }
}
