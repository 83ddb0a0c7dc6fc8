/** For tests of the checker on a channel with history: Ann publishes, and others follow the channel "c". */
import type { Beginning } from "../cursor.ts";
import { Scene } from "./scene.ts";

export const EPOCH = "e1";
/** The position at an offset. */
export const pos = (offset: number, epoch = EPOCH): string => `${epoch}.${offset}.${offset === 0 ? "0" : `k${offset}`}`;

export class StoredScene extends Scene {
  readonly ann: number;
  /** Messages of the channel so far. */
  top = 0;

  constructor() {
    super();
    this.ann = this.open("ann");
  }

  /** Ann publishes messages that get the next offsets. */
  store(count = 1, sender = this.ann): void {
    for (let i = 0; i < count; i++) {
      const number = this.checker.publishing(sender, "c");
      this.checker.published(sender, "c", number, "acked", { pos: pos(++this.top), isDuplicate: false });
    }
  }

  /** Opens a connection and subscribes it from the newest message on. */
  follow(peer: string, at = this.top): number {
    const id = this.open(peer);
    this.checker.subscribing(id, "c");
    this.checker.subscribed(id, "c", { pos: pos(at) });
    return id;
  }

  /** Ends the connection and opens another, which recovers. */
  resume(earlier: number, peer: string, from: string, answer: Partial<Beginning>): number {
    this.checker.closed(earlier);
    const id = this.open(peer);
    this.checker.subscribing(id, "c", { pos: from, without: earlier });
    this.checker.subscribed(id, "c", { pos: pos(this.top), recovered: true, replay: 0, ...answer });
    return id;
  }

  /** Ann's messages arrive, whose numbers are their offsets unless others published in between. */
  live(id: number, ...offsets: number[]): void {
    for (const offset of offsets) this.arrive(id, offset, { isReplay: false });
  }

  replayed(id: number, ...offsets: number[]): void {
    for (const offset of offsets) this.arrive(id, offset, { isReplay: true });
  }

  arrive(
    id: number,
    offset: number,
    { isReplay = false, number = offset, timeMs = 1000 + offset, at = pos(offset) } = {},
  ): void {
    this.checker.message(id, "c", "ann", { connection: this.ann, number }, { pos: at, timeMs, isReplay });
  }

  /** Problems other than those of rosters, which these scenes leave out. */
  get findings(): ReturnType<Scene["problems"]> {
    const { roster: _, ...others } = this.problems();
    return others;
  }
}
