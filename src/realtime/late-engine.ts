/** For tests: an engine whose answer to `watch` comes when the test lets it. */
import type { Engine, RemoteMembers } from "../engine/engine.ts";

export class LateAnswers {
  private readonly waiting: (() => void)[] = [];

  /** Stands between a hub and its engine. */
  readonly between = (engine: Engine): Engine => {
    const watch = engine.watch.bind(engine);
    return Object.assign(engine, {
      watch: (app: string, channel: string, found: (members: RemoteMembers) => void): void => {
        // Interest begins now; who is there is answered as it is when the answer goes out.
        watch(app, channel, () => {});
        this.waiting.push(() => found(engine.members(app, channel) as RemoteMembers));
      },
    });
  };

  get count(): number {
    return this.waiting.length;
  }

  /** The oldest question is answered. */
  release(): void {
    this.waiting.shift()?.();
  }

  releaseAll(): void {
    while (this.waiting.length > 0) this.release();
  }
}
