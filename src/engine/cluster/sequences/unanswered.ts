/** Nodes whose sequences have no known beginning on a channel: whether their messages were missed is decided when they report their state. */
import { EARLIER_VERSION_FORGETS_AFTER_MS, type SequenceState } from "../wire/messages.ts";
import { type Contact, elapsedMs } from "./incoming-sequence.ts";

/** The clocks of two nodes may run at slightly different speeds, so a message may be this much newer than it seems. */
const CLOCK_DRIFT_MS = 500;
/** Longer than a node runs, and shorter than the age of a message that was never published. */
const LONG_MS = 1e15;

/**
 * A node that has not responded to the first request of a subscription, or since its sequence was given up, or was heard for the first time
 * after the subscription was opened, or has returned when its sequences were forgotten here.
 */
export interface Unanswered {
  /** What it has accepted since then, before it noticed that it was cut off, may not have arrived. */
  readonly since: Contact;
  /** It was cut off, or this node was. */
  readonly isReturned: boolean;
  /** It may have read of the subscription as late as it responds. Otherwise its items have arrived, also if it responds late. */
  readonly isUnaware: boolean;
  /** It was heard for the first time, and nothing says that it was cut off, or this node: almost always it has just started. */
  readonly isStarting?: boolean;
}

/** What waits for responses of nodes, by their names. */
interface Waiting {
  unanswered: Map<string, Unanswered> | undefined;
}

export function unanswered(waiting: Waiting, name: string, one: Unanswered): void {
  // Bound: nodes of the cluster.
  waiting.unanswered ??= new Map();
  waiting.unanswered.set(name, one);
}

export function answered(waiting: Waiting, name: string): void {
  waiting.unanswered?.delete(name);
  if (waiting.unanswered?.size === 0) waiting.unanswered = undefined;
}

/** `hasBeginning`: its sequence is followed from the first item on, so only messages of earlier epochs can be missing. */
export function mayHaveMissed(
  { since, isReturned, isUnaware }: Unanswered,
  state: SequenceState,
  hasBeginning: boolean,
  nowMs: number,
): boolean {
  if (!isReturned && !isUnaware) return false;
  const { epoch, idleMs = epoch > 0 ? 0 : EARLIER_VERSION_FORGETS_AFTER_MS } = state;
  const { earlierIdleMs = EARLIER_VERSION_FORGETS_AFTER_MS } = state;
  return (hasBeginning ? earlierIdleMs : idleMs) <= elapsedMs(since, nowMs, state) + CLOCK_DRIFT_MS;
}

/**
 * Whether messages of a node that ends may have been missed: its state would have decided it. A node that ends while it starts, or falls silent
 * before it has read of the subscription, has almost never published since: to close all subscribers for it would do more harm.
 */
export function isDoubted({ unanswered }: Waiting, name: string, hasLeft: boolean): boolean {
  const one = unanswered?.get(name);
  return one !== undefined && ((one.isReturned && !one.isStarting) || (one.isUnaware && hasLeft));
}

/**
 * Since when messages of a node that was never heard before may be missing. If this node was cut off since then, its clock does not say: its
 * machine may have been suspended. Almost always such a node has started meanwhile, and each message that it has published was missed.
 */
export const unheardSince = (openedMs: number, interruptedMs: number): Contact => ({
  lastMs: openedMs > interruptedMs ? openedMs : openedMs - LONG_MS,
});

/** What a node has published since the opening of the subscription, and since something was last received from it, may be missing. */
export function openedSince(openedMs: number, { lastMs, clockMs }: Contact): Contact {
  const laterMs = Math.max(0, openedMs - lastMs);
  return { lastMs: lastMs + laterMs, clockMs: clockMs === undefined ? undefined : clockMs + laterMs };
}
