/** Whom a peer has been told of: the peers `first` to `first + size` of a group are to be told once each, itself never. */
export class Acquaintances {
  private readonly told: Uint8Array;
  private right = 0;
  private wrong = 0;

  constructor(
    private readonly self: number,
    private readonly first: number,
    size: number,
  ) {
    this.told = new Uint8Array(size);
  }

  joined(peerId: string): void {
    const number = numberOf(peerId);
    const at = number - this.first;
    if (number === this.self || this.told[at] !== 0) {
      this.wrong++;
      return;
    }
    this.told[at] = 1;
    this.right++;
  }

  /** Nobody leaves while this is asked. */
  left(): void {
    this.wrong++;
  }

  get isComplete(): boolean {
    return this.right === this.told.length - 1;
  }

  /** Told twice, told of itself, of somebody of another group, or of somebody's leaving. */
  get mistakes(): number {
    return this.wrong;
  }
}

/** The last thing in a peer id is its number. */
const numberOf = (peerId: string): number => Number(peerId.slice(peerId.lastIndexOf("-") + 1));
