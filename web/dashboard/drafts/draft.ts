/** What a form holds while someone types, beside what is saved: that may be changed elsewhere meanwhile. */
import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

/** The draft with what was saved anew in every field that no one has touched. */
export function followed<T extends Readonly<Record<string, unknown>>>(draft: T, before: T, after: T): T {
  const next: Record<string, unknown> = { ...draft };
  for (const name of Object.keys(after)) if (Object.is(draft[name], before[name])) next[name] = after[name];
  return next as T;
}

/** Holds the fields of a form: what was typed stays, other fields follow what is saved. */
export function useDraft<T extends Readonly<Record<string, unknown>>>(saved: T): Signal<T> {
  const draft = useSignal(saved);
  const before = useRef(saved);
  if (JSON.stringify(before.current) !== JSON.stringify(saved)) {
    draft.value = followed(draft.peek(), before.current, saved);
    before.current = saved;
  }
  return draft;
}
