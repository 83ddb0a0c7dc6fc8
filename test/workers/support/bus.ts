/**
 * Loaded into a worker before its own code (`bun --preload`): a short queue between workers, so that a test soon fills it, and a text that keeps a
 * worker busy. The product itself has no such hook.
 */
import { OutgoingSequences } from "../../../src/engine/cluster/sequences/outgoing-sequences.ts";
import { UnixTransport } from "../../../src/engine/transport/unix.ts";
import { Dispatch } from "../../../src/realtime/frames/dispatch.ts";

const QUEUE = "TEST_BUS_QUEUE_BYTES";

/** In a frame: the worker that gets it computes for this many seconds, and reads nothing meanwhile. */
export const BUSY = "planted: be busy, seconds ";

/** Environment variables that load this file into a worker. `queueMaxBytes`: undefined for the product's own bound. */
export const plantedBus = (queueMaxBytes?: number): Readonly<Record<string, string>> => ({
  BUN_OPTIONS: `--preload ${import.meta.path}`,
  ...(queueMaxBytes !== undefined && { [QUEUE]: String(queueMaxBytes) }),
});

const queueMaxBytes = Number(process.env[QUEUE] ?? 0);
if (queueMaxBytes > 0) {
  const join = UnixTransport.join;
  UnixTransport.join = (options) => join.call(UnixTransport, { ...options, queueMaxBytes });
  keepAtMost(queueMaxBytes / 2);
}

/** As in the product, half of what is queued is kept to be replayed: with more, each repair would fill the queue again. */
function keepAtMost(maxBytes: number): void {
  const { append } = OutgoingSequences.prototype;
  OutgoingSequences.prototype.append = function (this: OutgoingSequences, ...args: Parameters<typeof append>) {
    const appended = append.apply(this, args);
    const kept = this as unknown as { readonly bytes: number; dropOldest(): void };
    while (kept.bytes > maxBytes) kept.dropOldest();
    return appended;
  };
}

const text = Dispatch.prototype.text;
Dispatch.prototype.text = function (this: Dispatch, ...args: Parameters<typeof text>) {
  const [, frame] = args;
  const at = frame.indexOf(BUSY);
  if (at >= 0) {
    const endMs = performance.now() + Number.parseFloat(frame.slice(at + BUSY.length)) * 1000;
    while (performance.now() < endMs);
  }
  return text.apply(this, args);
};
