/**
 * Works on replays a little at a time: a few milliseconds per turn of the process, in turns between the connections. A client that
 * comes back is usually served at once. Thousands of them, or clients that subscribe to much and do not read it, delay each other
 * and not the messages of the rest.
 */
import type { Connection } from "../state/connection.ts";
import type { Replay } from "../state/replay.ts";
import { LoopShare, type LoopShareParts } from "./loop-share.ts";

/** In the order of their turns. */
type Line = Map<Connection, Set<Replay>>;

export class Pacer {
  /**
   * Every second turn is for a connection that has not had one yet, so that a client that has missed little does not wait for
   * many that ask for much. Bound: one per connection, each with its subscriptions that begin.
   */
  private readonly fresh: Line = new Map();
  /** Bound: as `fresh`. */
  private readonly begun: Line = new Map();
  private isFreshNext = true;
  private readonly share: LoopShare;
  private isWorking = false;

  constructor(
    parts: LoopShareParts,
    /** A short piece of work; returns true if there is more to do now. */
    private readonly work: (replay: Replay) => boolean,
  ) {
    this.share = new LoopShare(parts, () => this.run());
  }

  /** There is something to do for this replay: now, or when it is its turn. */
  add(replay: Replay): void {
    enqueue(replay, this.begun.has(replay.subscription.connection) ? this.begun : this.fresh);
    this.run();
  }

  remove(replay: Replay): void {
    for (const line of [this.fresh, this.begun]) {
      const { connection } = replay.subscription;
      const replays = line.get(connection);
      if (replays?.delete(replay) && replays.size === 0) line.delete(connection);
    }
  }

  private run(): void {
    // Work on one replay can begin another one: that is done behind it, and not within.
    if (this.isWorking) return;
    this.isWorking = true;
    try {
      while (this.fresh.size + this.begun.size > 0 && !this.share.isOver()) {
        const replay = this.next();
        if (replay && this.work(replay)) enqueue(replay, this.begun);
      }
    } finally {
      this.isWorking = false;
    }
  }

  private next(): Replay | undefined {
    const line = (this.isFreshNext && this.fresh.size > 0) || this.begun.size === 0 ? this.fresh : this.begun;
    this.isFreshNext = line === this.begun;
    const [first] = line;
    if (!first) return undefined;
    const [connection, replays] = first;
    const [replay] = replays;
    line.delete(connection);
    if (replay) replays.delete(replay);
    if (replays.size > 0) this.queueBehind(connection, replays);
    return replay;
  }

  private queueBehind(connection: Connection, replays: Set<Replay>): void {
    const others = this.begun.get(connection);
    if (!others) this.begun.set(connection, replays);
    else for (const replay of replays) others.add(replay);
  }
}

function enqueue(replay: Replay, line: Line): void {
  const { connection } = replay.subscription;
  const replays = line.get(connection);
  if (replays) replays.add(replay);
  else line.set(connection, new Set([replay]));
}
