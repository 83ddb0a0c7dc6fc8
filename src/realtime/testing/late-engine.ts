/** For tests: engines whose answer to `watch` comes late. */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Engine, RemoteMembers } from "../../engine/engine.ts";

type Found = (members: RemoteMembers) => void;

/** Answers come `ms` later, and the channel is watched from then on. After an `unwatch` the answer has no members. */
export function slowly(engine: Engine, clock: Clock, ms: number): Engine {
  const watch = engine.watch.bind(engine);
  const unwatch = engine.unwatch.bind(engine);
  const pending = new Map<string, symbol>();
  return Object.assign(engine, {
    watch: (spaceId: SpaceId, channel: string, found: Found): void => {
      const mark = Symbol(channel);
      pending.set(`${spaceId} ${channel}`, mark);
      clock.after(ms, () => {
        if (pending.get(`${spaceId} ${channel}`) !== mark) return found(new Map());
        pending.delete(`${spaceId} ${channel}`);
        watch(spaceId, channel, found);
      });
    },
    unwatch: (spaceId: SpaceId, channel: string): void => {
      if (!pending.delete(`${spaceId} ${channel}`)) unwatch(spaceId, channel);
    },
  });
}

/** Answers come when the test releases them. */
export class LateAnswers {
  private readonly waiting: (() => void)[] = [];

  /** Stands between a hub and its engine. */
  readonly between = (engine: Engine): Engine => {
    const watch = engine.watch.bind(engine);
    const unwatch = engine.unwatch.bind(engine);
    const current = new Map<string, symbol>();
    return Object.assign(engine, {
      watch: (spaceId: SpaceId, channel: string, found: Found): void => {
        // Watched from now on; the answer has the members at the time when it is released.
        watch(spaceId, channel, () => {});
        const mark = Symbol(channel);
        current.set(`${spaceId} ${channel}`, mark);
        this.waiting.push(() =>
          current.get(`${spaceId} ${channel}`) === mark ? watch(spaceId, channel, found) : found(new Map()),
        );
      },
      unwatch: (spaceId: SpaceId, channel: string): void => {
        current.delete(`${spaceId} ${channel}`);
        unwatch(spaceId, channel);
      },
    });
  };

  get count(): number {
    return this.waiting.length;
  }

  /** Answers the oldest `watch`. */
  release(): void {
    this.waiting.shift()?.();
  }

  releaseAll(): void {
    while (this.waiting.length > 0) this.release();
  }
}
