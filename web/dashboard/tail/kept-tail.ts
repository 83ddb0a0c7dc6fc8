/** The console's tail over a visit to another page: with Back, its events, the chosen one and the place in the list are there again. */
import { effect, type Signal, signal } from "@preact/signals";
import { session } from "../api/session.ts";
import type { KeptEvent, Tail } from "./tail.ts";
import { newTail } from "./use-tail.ts";

interface Kept {
  /** The application, by its id; undefined: all of them. */
  readonly app: string | undefined;
  readonly tail: Tail;
  readonly selected: Signal<KeptEvent | undefined>;
}

/** Bound: one console, with the events that a tail keeps. */
let kept: Kept | undefined;

// Events may have payloads, which the next operator who signs in here may not be allowed to see.
effect(() => {
  if (!session.value) kept = undefined;
});

/** The tail of the last console, if that was of the same application. `isReturn`: with its place and its choice too. */
export function keptTail(app: string | undefined, isReturn: boolean): Kept {
  if (!kept || kept.app !== app) kept = { app, tail: newTail(), selected: signal(undefined) };
  else if (!isReturn) {
    kept.selected.value = undefined;
    kept.tail.resume();
  }
  return kept;
}
