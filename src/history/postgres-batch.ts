/** A batch as parameters of `history_append`, and its result. */
import type { Appended, Batch, NewMessage } from "./history.ts";

type Cell = string | number | undefined;

/** An array as PostgreSQL reads it from a text. */
export const arrayLiteral = (values: readonly Cell[]): string =>
  `{${values.map((value) => (value === undefined ? "NULL" : `"${String(value).replaceAll(/["\\]/g, "\\$&")}"`)).join(",")}}`;

export interface Prepared {
  /** Arrays with one element per stream: application, channel, messages and milliseconds to keep. */
  readonly streams: readonly [string, string, string, string];
  /** Arrays with one element per message: number of its stream, sender, connection, id, scope, metadata, data, size. */
  readonly messages: readonly [string, string, string, string, string, string, string, string];
  /** For each message of the batch, which of those that are sent has its result; and whether it repeats that one's id. */
  readonly results: readonly { readonly at: number; readonly repeats: boolean }[];
}

/** A message with the id of an earlier one of the same batch is not sent: it gets the same result. */
export function prepare({ messages }: Batch): Prepared {
  const streams = new Map<string, { readonly number: number; readonly message: NewMessage }>();
  const ids = new Map<string, number>();
  const sent: { readonly stream: number; readonly message: NewMessage }[] = [];
  const results = messages.map((message) => {
    const name = JSON.stringify([message.app, message.channel]);
    const stream = streams.get(name) ?? { number: streams.size + 1, message };
    streams.set(name, stream);
    const id = message.id === undefined ? undefined : `${name} ${message.idScope} ${message.id}`;
    const earlier = id === undefined ? undefined : ids.get(id);
    if (earlier !== undefined) return { at: earlier, repeats: true };
    if (id !== undefined) ids.set(id, sent.length);
    sent.push({ stream: stream.number, message });
    return { at: sent.length - 1, repeats: false };
  });
  const named = [...streams.values()].map(({ message }) => message);
  const column = (cell: (message: NewMessage) => Cell): string =>
    arrayLiteral(sent.map(({ message }) => cell(message)));
  return {
    streams: [
      arrayLiteral(named.map(({ app }) => app)),
      arrayLiteral(named.map(({ channel }) => channel)),
      arrayLiteral(named.map(({ keep }) => keep.messages)),
      arrayLiteral(named.map(({ keep }) => keep.seconds * 1000)),
    ],
    messages: [
      arrayLiteral(sent.map(({ stream }) => stream)),
      column(({ from }) => from),
      column(({ connection }) => connection),
      column(({ id }) => id),
      column(({ idScope }) => idScope),
      column(({ metadataJson }) => metadataJson),
      column(({ dataJson }) => dataJson),
      column(({ bytes }) => bytes),
    ],
    results,
  };
}

type Row = readonly [epoch: string, offset: number, check: string, time: number, isDuplicate: boolean];

export function resultsOf({ results }: Pick<Prepared, "results">, json: string): readonly Appended[] {
  const rows = JSON.parse(json) as readonly Row[];
  return results.map(({ at, repeats }) => {
    const [epoch, offset, check, time, isDuplicate] = rows[at] as Row;
    return { epoch, offset, check, time, isDuplicate: isDuplicate || repeats };
  });
}
