/**
 * What became of a batch of writes, as text, so that a store can remember it with the batch. What one write has stored is contiguous, so it
 * is one entry: a body of a thousand values takes no more than one of one.
 */
import type { Producer, Written } from "./created-streams.ts";
import type { Appended } from "./messages.ts";

type Stored = Extract<Written, { readonly appended: readonly Appended[] }>;
type Packed = Omit<Stored, "appended"> & { readonly appended: readonly Appended[]; readonly count: number };

const isContiguous = (appended: readonly Appended[]): boolean =>
  appended.every(({ offset, isDuplicate }, index) => !isDuplicate && offset === (appended[0]?.offset ?? 0) + index);

const packed = (one: Written): Written | Packed =>
  "appended" in one && one.appended.length > 1 && isContiguous(one.appended)
    ? { ...one, appended: one.appended.slice(0, 1), count: one.appended.length }
    : one;

function unpacked(one: Written | Packed): Written {
  if (!("count" in one)) return one;
  const { count, ...rest } = one;
  const [first] = rest.appended;
  if (!first) throw new Error("a result of a write has no first message");
  const appended = Array.from({ length: count }, (_, index) => ({ ...first, offset: first.offset + index }));
  return { ...rest, appended };
}

export const encodeResult = (results: readonly Written[]): string => JSON.stringify(results.map(packed));

/** `text`: of `encodeResult`. */
export const decodeResult = (text: string): readonly Written[] =>
  (JSON.parse(text) as readonly (Written | Packed)[]).map(unpacked);

/** Identifies the write that has closed a stream, so that its repetition is known; empty without a producer. */
export const closerOf = (producer: Producer | undefined): string =>
  producer ? JSON.stringify([producer.owner, producer.id, producer.epoch, producer.seq]) : "";
