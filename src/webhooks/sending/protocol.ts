/** What the service and the process that sends tell each other: lines of JSON. */
import type { GuardRules } from "../../net/guard.ts";
import type { PinnedAnswer, PinnedRequest } from "../../net/pinned.ts";

/** The first line to the process. */
export interface Setup {
  readonly rules: GuardRules;
}

/** Every further line to it. */
export interface Order extends PinnedRequest {
  readonly id: number;
}

/** Every line from it. */
export interface Report {
  readonly id: number;
  readonly tookMs: number;
  readonly answer: PinnedAnswer;
}

/** Lines of a stream of bytes. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // Bound: both ends write lines of at most some 60 KiB.
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}
