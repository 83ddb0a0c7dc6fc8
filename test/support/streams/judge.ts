/**
 * Compares what writers were answered and what readers have seen with what the store has in the end. A stream is a row of values, each of which
 * was written by one writer; offsets count them.
 */
import { numberOf } from "./http.ts";

/** What the store has at one offset. */
export interface Stored {
  readonly offset: string;
  readonly value: string;
}

/** A response, an event or a frame: the values in it, and the offset behind them. */
export interface Piece {
  readonly to: string;
  readonly values: readonly string[];
}

export interface Reading {
  readonly reader: string;
  readonly stream: string;
  /** Where the stream begins. */
  readonly from: string;
  readonly pieces: readonly Piece[];
  /** Answers that it must not get. */
  readonly complaints: readonly string[];
}

export interface Write {
  readonly values: readonly string[];
  /** How often it was sent. */
  readonly times: number;
  /** `undefined`: it was never answered with success. "" if the answer names no offset. */
  readonly next: string | undefined;
}

export interface Writing {
  readonly writer: string;
  readonly stream: string;
  /** With a producer, each write is stored once. */
  readonly isProducer: boolean;
  /** In the order of their numbers. */
  readonly writes: readonly Write[];
  readonly complaints: readonly string[];
}

export interface Evidence {
  readonly streams: ReadonlyMap<string, readonly Stored[]>;
  readonly writings: readonly Writing[];
  readonly readings: readonly Reading[];
}

const PROBLEMS_MAX = 20;
const SHOWN_MAX = 60;
const shown = (value: string | undefined): string => value?.slice(0, SHOWN_MAX) ?? "nothing";

/** What is wrong; [] if nothing is. */
export function judge({ streams, writings, readings }: Evidence): readonly string[] {
  const problems: string[] = [];
  for (const [stream, stored] of streams) problems.push(...ofStore(stream, stored, writings));
  for (const writing of writings) problems.push(...ofWriter(writing, streams.get(writing.stream) ?? []));
  for (const reading of readings) problems.push(...ofReader(reading, streams.get(reading.stream) ?? []));
  return problems.slice(0, PROBLEMS_MAX);
}

/** Offsets count from 1, and nothing is there that no one has written. */
function* ofStore(stream: string, stored: readonly Stored[], writings: readonly Writing[]): Generator<string> {
  const written = new Set<string>();
  for (const one of writings)
    if (one.stream === stream) for (const { values } of one.writes) for (const value of values) written.add(value);
  for (const [at, { offset, value }] of stored.entries()) {
    if (numberOf(offset) !== at + 1) yield `${stream}: ${offset} is number ${at + 1}`;
    if (!written.has(value)) yield `${stream}: ${offset} was never written: ${shown(value)}`;
  }
}

function* ofWriter(writing: Writing, stored: readonly Stored[]): Generator<string> {
  const { writer, stream, isProducer, writes, complaints } = writing;
  const name = `${writer} of ${stream}`;
  for (const complaint of complaints) yield `${name}: ${complaint}`;
  const places = Map.groupBy(stored, ({ value }) => value);
  let before = 0;
  for (const { values, times, next } of writes)
    for (const value of values) {
      const found = places.get(value) ?? [];
      const most = isProducer ? 1 : times;
      if (next !== undefined && found.length === 0) yield `${name}: ${shown(value)} was answered and is not stored`;
      if (found.length > most)
        yield `${name}: ${shown(value)} was sent ${times} times and is stored ${found.length} times`;
      const [first] = found;
      if (!first) continue;
      const place = numberOf(first.offset);
      if (place < before) yield `${name}: ${shown(value)} is stored before an earlier one`;
      before = place;
      if (next && numberOf(next) < place) yield `${name}: ${shown(value)} is stored behind its answer, ${next}`;
    }
  for (const { next } of writes)
    if (next && !isPlace(next, stored)) yield `${name}: the answer names ${next}, which the store does not have`;
}

/** The form of an offset names one message only. */
const isPlace = (offset: string, stored: readonly Stored[]): boolean => stored[numberOf(offset) - 1]?.offset === offset;

function* ofReader(
  { reader, stream, from, pieces, complaints }: Reading,
  stored: readonly Stored[],
): Generator<string> {
  const name = `${reader} of ${stream}`;
  for (const complaint of complaints) yield `${name}: ${complaint}`;
  let at = numberOf(from);
  for (const { to, values } of pieces) {
    const end = numberOf(to);
    if (end - at !== values.length) {
      yield `${name}: ${values.length} values between ${at} and ${to}`;
      return;
    }
    for (const [nr, value] of values.entries()) {
      const is = stored[at + nr]?.value;
      if (is === value) continue;
      yield `${name}: ${shown(value)} at ${at + nr + 1}, where the store has ${shown(is)}`;
      return;
    }
    if (values.length > 0 && !isPlace(to, stored)) yield `${name}: it was given ${to}, which the store does not have`;
    at = end;
  }
  if (at !== stored.length) yield `${name}: it ends at ${at}, the store at ${stored.length}`;
}
