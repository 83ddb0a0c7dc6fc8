/**
 * Works on replays a little at a time: a few milliseconds per turn of the event loop, in rotation between applications and then
 * between their connections. A client that comes back is usually served at once. Thousands of them, or clients that subscribe to much
 * and do not read it, delay each other and not the messages of the rest.
 */
import type { AppId } from "../../base/ids.ts";
import type { Connection } from "../state/connection.ts";
import type { Replay } from "../state/replay.ts";
import { LoopShare, type LoopShareParts } from "./loop-share.ts";
import { firstOf, RoundRobin } from "./round-robin.ts";

type Queue = RoundRobin<Connection, Replay>;

export class Pacer {
  /**
   * Every second time it is a connection that was not served yet, so that a client that has missed little does not wait for
   * many that ask for much. Bound: one per connection, each with its subscriptions that begin.
   */
  private readonly fresh: Queue = new RoundRobin();
  /** Bound: as `fresh`. */
  private readonly begun: Queue = new RoundRobin();
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

  /** There is something to do for this replay: now, or when it is next. */
  add(replay: Replay): void {
    const { app, connection } = ownersOf(replay);
    const queue = this.begun.has(app, connection) ? this.begun : this.fresh;
    queue.add(app, connection, replay);
    this.run();
  }

  remove(replay: Replay): void {
    const { app, connection } = ownersOf(replay);
    for (const queue of [this.fresh, this.begun]) queue.remove(app, connection, replay);
  }

  private run(): void {
    // Work on one replay can begin another one: that is done behind it, and not within.
    if (this.isWorking) return;
    this.isWorking = true;
    try {
      while (!(this.fresh.isEmpty && this.begun.isEmpty) && !this.share.isOver()) this.workOnNext();
    } finally {
      this.isWorking = false;
    }
  }

  private workOnNext(): void {
    const queue = (this.isFreshNext && !this.fresh.isEmpty) || this.begun.isEmpty ? this.fresh : this.begun;
    this.isFreshNext = queue === this.begun;
    const next = queue.next();
    if (!next) return;
    const replay = firstOf(next);
    this.begun.putBack(next);
    if (replay && this.work(replay)) this.begun.add(next.app, next.owner, replay);
  }
}

function ownersOf({ subscription: { channel, connection } }: Replay): { app: AppId; connection: Connection } {
  return { app: channel.space.owner, connection };
}
