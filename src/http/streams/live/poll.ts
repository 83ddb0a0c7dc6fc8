/** A long poll that waits: until something comes, its time is over, its client is gone, or it may not read any more. */
import type { Position } from "../../../protocol/position.ts";
import type { Caller } from "../caller.ts";
import type { Feed } from "./feed.ts";
import type { LiveReader } from "./reader.ts";

/** `ended`: the stream is another one, the caller may not read any more, or the node stops. */
export type Waited = "more" | "over" | "ended";

export class Poll implements LiveReader {
  private readonly settled = Promise.withResolvers<Waited>();

  constructor(
    public caller: Caller,
    readonly channel: string,
    private readonly parts: { readonly feed: Feed; readonly at: Position; readonly endsMs: number },
  ) {}

  get waited(): Promise<Waited> {
    return this.settled.promise;
  }

  wake(): 0 | 1 {
    const { feed, at } = this.parts;
    if (!feed.hasMore(at)) return 0;
    this.settled.resolve("more");
    return 1;
  }

  tick(nowMs: number): void {
    if (nowMs >= this.parts.endsMs) this.settled.resolve("over");
  }

  end(): void {
    this.settled.resolve("ended");
  }
}
