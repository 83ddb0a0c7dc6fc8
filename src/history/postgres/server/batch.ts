/** A batch as parameters of `history_append_2`, and its result. */
import type { Appended, Batch, NewMessage } from "../../contract/history.ts";
import { idKey } from "../../contract/id-key.ts";

type Cell = string | number | undefined;

/** An array as PostgreSQL reads it from a text. */
export const arrayLiteral = (values: readonly Cell[]): string => `{${values.map(cellText).join(",")}}`;

function cellText(value: Cell): string {
  if (value === undefined) return "NULL";
  return typeof value === "number" ? String(value) : `"${value.replaceAll(ESCAPED, "\\$&")}"`;
}

const ESCAPED = /["\\]/g;

/** `unnest` fills up a shorter array with NULL. */
const columnLiteral = (values: readonly Cell[]): string =>
  values.every((value) => value === undefined) ? "{}" : arrayLiteral(values);

export interface Prepared {
  /** Arrays with one element per stream: application, channel, messages and milliseconds to keep. */
  readonly streams: readonly [string, string, string, string];
  /** Arrays with one element per message: number of its stream, sender, connection, id, scope, metadata, data, size. */
  readonly messages: readonly [string, string, string, string, string, string, string, string];
  /** For each message that is sent, the index of its stream. */
  readonly places: readonly number[];
  /** For each message of the batch, which of those that are sent has its result; and whether it repeats that one's id. */
  readonly results: readonly { readonly at: number; readonly repeats: boolean }[];
}

/** A message with the id of an earlier one of the same batch is not sent: it gets the same result. */
export function prepare({ messages }: Batch): Prepared {
  const streams = new Map<string, { readonly number: number; readonly message: NewMessage }>();
  const ids = new Map<string, number>();
  const sent: { readonly stream: number; readonly message: NewMessage }[] = [];
  const results = messages.map((message) => {
    const name = JSON.stringify([message.spaceId, message.channel]);
    const stream = streams.get(name) ?? { number: streams.size + 1, message };
    streams.set(name, stream);
    const id = message.id === undefined ? undefined : `${name} ${idKey(message.idScope, message.id)}`;
    const earlier = id === undefined ? undefined : ids.get(id);
    if (earlier !== undefined) return { at: earlier, repeats: true };
    if (id !== undefined) ids.set(id, sent.length);
    sent.push({ stream: stream.number, message });
    return { at: sent.length - 1, repeats: false };
  });
  const named = [...streams.values()].map(({ message }) => message);
  const column = (cell: (message: NewMessage) => Cell): string =>
    columnLiteral(sent.map(({ message }) => cell(message)));
  return {
    streams: [
      arrayLiteral(named.map(({ spaceId }) => spaceId)),
      arrayLiteral(named.map(({ channel }) => channel)),
      arrayLiteral(named.map(({ keep }) => keep.messages)),
      arrayLiteral(named.map(({ keep }) => keep.seconds * 1000)),
    ],
    messages: [
      arrayLiteral(sent.map(({ stream }) => stream)),
      column(({ from }) => from),
      column(({ connection }) => connection),
      column(({ id }) => id),
      column(({ id, idScope }) => (id === undefined ? undefined : idScope)),
      column(({ metadataJson }) => metadataJson),
      column(({ dataJson }) => dataJson),
      column(({ bytes }) => bytes),
    ],
    places: sent.map(({ stream }) => stream - 1),
    results,
  };
}

/** What `history_append_2` returns. */
interface Answer {
  readonly streams: readonly (readonly [epoch: string, top: number, time: number])[];
  readonly old:
    | readonly (readonly [number: number, offset: number, check: string, time: number, epoch: string])[]
    | null;
}

/** `epoch` is that of the stream now. */
function duplicateOf(
  [offset, check, time, itsEpoch]: readonly [number, string, number, string],
  epoch: string,
): Appended {
  const first = { epoch: itsEpoch, offset, check, time, isDuplicate: true };
  return itsEpoch === epoch ? first : { ...first, isRemoved: true };
}

/** New messages have the offsets behind the top of their stream, in the order of the batch. */
export function resultsOf({ places, results }: Prepared, check: string, json: string): readonly Appended[] {
  const { streams, old } = JSON.parse(json) as Answer;
  const tops = streams.map(([, top]) => top);
  const known = new Map(old?.map(([number, ...place]) => [number - 1, place]));
  const sent = places.map((place, at): Appended => {
    const [epoch = "", , time = 0] = streams[place] ?? [];
    const earlier = known.get(at);
    if (earlier) return duplicateOf(earlier, epoch);
    const offset = (tops[place] ?? 0) + 1;
    tops[place] = offset;
    return { epoch, offset, check, time, isDuplicate: false };
  });
  return results.map(({ at, repeats }) => {
    const one = sent[at] as Appended;
    return repeats ? { ...one, isDuplicate: true } : one;
  });
}
