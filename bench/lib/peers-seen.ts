/** The peers that a peer has seen: it should see peers `first` to `first + size` of its group once each, except itself. */
export class PeersSeen {
  private readonly seen: Uint8Array;
  private right = 0;
  private wrong = 0;

  constructor(
    private readonly self: number,
    private readonly first: number,
    size: number,
  ) {
    this.seen = new Uint8Array(size);
  }

  joined(peerId: string): void {
    const number = numberOf(peerId);
    const at = number - this.first;
    if (number === this.self || this.seen[at] !== 0) {
      this.wrong++;
      return;
    }
    this.seen[at] = 1;
    this.right++;
  }

  /** Called while no peer leaves. */
  left(): void {
    this.wrong++;
  }

  get isComplete(): boolean {
    return this.right === this.seen.length - 1;
  }

  /** Peers seen twice, the peer itself, peers of another group, or peers that left. */
  get mistakes(): number {
    return this.wrong;
  }
}

/** A peer id ends with its number. */
const numberOf = (peerId: string): number => Number(peerId.slice(peerId.lastIndexOf("-") + 1));
