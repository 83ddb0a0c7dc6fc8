/** A batch of writes as parameters of `history_write`. */
import { mediaTypeOf } from "../../../protocol/streams/data.ts";
import type { Write, WriteBatch } from "../../contract/created-streams.ts";
import type { NewMessage } from "../../contract/history.ts";
import { idKey } from "../../contract/id-key.ts";
import { closerOf } from "../../contract/write-result.ts";
import { arrayLiteral } from "../server/batch.ts";
import { Numbered } from "./numbered.ts";

const JSON_TYPE = "application/json";

interface StreamCell {
  readonly write: Write;
  readonly held: number;
  begins: boolean;
}

/** An id of a message, or a producer, with the number of its stream. */
interface Named {
  readonly stream: number;
  readonly scope: string;
  readonly id: string;
}

export interface PreparedWrites {
  /** Applications, channels, messages and milliseconds to keep, which of them have to begin, numbers of their application below; and those. */
  readonly streams: readonly [string, string, string, string, string, string, string];
  /** The same of those that have to begin: application, channel, messages and milliseconds to keep. */
  readonly begun: readonly [string, string, string, string];
  /** Numbers of their streams, owners, ids. */
  readonly producers: readonly [string, string, string];
  readonly writes: readonly string[];
  /** Numbers of their streams, scopes, ids. */
  readonly ids: readonly [string, string, string];
  /** Numbers of their ids, senders, connections, metadata, data, sizes. */
  readonly messages: readonly [string, string, string, string, string, string];
}

/** A bound of `BIGINT`, which knows no Infinity. */
export const bounded = (bytes: number): number => Math.min(bytes, Number.MAX_SAFE_INTEGER);

const keptMs = ({ keep }: Write): number | undefined => keep && keep.seconds * 1000;

export function prepareWrites({ writes }: WriteBatch): PreparedWrites {
  const apps = new Numbered<string>();
  const streams = new Numbered<StreamCell>();
  const producers = new Numbered<Named>();
  const ids = new Numbered<Named>();
  const placeOf = (write: Write): number => {
    const { spaceId, channel, keep, isMalformed } = write;
    const held = apps.numberOf(spaceId, () => spaceId);
    const number = streams.numberOf(JSON.stringify([spaceId, channel]), () => ({ write, held, begins: false }));
    const cell = streams.values[number - 1];
    // What is refused whatever the history holds does not begin it.
    if (cell && keep && !isMalformed && mediaTypeOf(write.contentType ?? "") === JSON_TYPE) cell.begins = true;
    return number;
  };
  const idOf = ({ id, idScope }: NewMessage, stream: number): number | undefined =>
    id === undefined
      ? undefined
      : ids.numberOf(`${stream} ${idKey(idScope, id)}`, () => ({ stream, scope: idScope, id }));
  const placed = writes.map((write) => ({ write, stream: placeOf(write) }));
  const producerOf = ({ write: { producer }, stream }: (typeof placed)[number]): number | undefined =>
    producer &&
    producers.numberOf(JSON.stringify([stream, producer.owner, producer.id]), () => ({
      stream,
      scope: producer.owner,
      id: producer.id,
    }));
  const messages = placed.flatMap((one) => one.write.messages.map((message) => ({ message, stream: one.stream })));
  const column = (cell: (write: Write) => Parameters<typeof arrayLiteral>[0][number]): string =>
    arrayLiteral(writes.map(cell));
  const cells = streams.values;
  const begun = cells.filter(({ begins }) => begins).map(({ write }) => write);
  const writers = placed.map(producerOf);
  const idsOf = messages.map(({ message, stream }) => idOf(message, stream));
  return {
    streams: [
      arrayLiteral(cells.map(({ write }) => write.spaceId)),
      arrayLiteral(cells.map(({ write }) => write.channel)),
      arrayLiteral(cells.map(({ write }) => write.keep?.messages)),
      arrayLiteral(cells.map(({ write }) => keptMs(write))),
      arrayLiteral(cells.map(({ begins }) => String(begins))),
      arrayLiteral(cells.map(({ held }) => held)),
      arrayLiteral(apps.values),
    ],
    begun: [
      arrayLiteral(begun.map(({ spaceId }) => spaceId)),
      arrayLiteral(begun.map(({ channel }) => channel)),
      arrayLiteral(begun.map(({ keep }) => keep?.messages)),
      arrayLiteral(begun.map(keptMs)),
    ],
    producers: namedColumns(producers.values),
    writes: [
      arrayLiteral(placed.map(({ stream }) => stream)),
      column((write) => write.messages.length),
      column((write) => String(write.messages.some(({ id }) => id !== undefined))),
      column((write) => write.messages.reduce((sum, { bytes }) => sum + bytes, 0)),
      column(({ contentType }) => mediaTypeOf(contentType ?? "")),
      column(({ isMalformed }) => String(isMalformed)),
      column(({ closes }) => String(closes)),
      column(({ seq }) => seq),
      arrayLiteral(writers),
      column(({ producer }) => producer?.epoch),
      column(({ producer }) => producer?.seq),
      column(({ producer }) => closerOf(producer)),
      column(({ limits }) => bounded(limits.streamBytes)),
      column(({ limits }) => bounded(limits.appBytes)),
    ],
    ids: namedColumns(ids.values),
    messages: [
      arrayLiteral(idsOf),
      arrayLiteral(messages.map(({ message }) => message.from)),
      arrayLiteral(messages.map(({ message }) => message.connection)),
      arrayLiteral(messages.map(({ message }) => message.metadataJson)),
      arrayLiteral(messages.map(({ message }) => message.dataJson)),
      arrayLiteral(messages.map(({ message }) => message.bytes)),
    ],
  };
}

const namedColumns = (values: readonly Named[]): readonly [string, string, string] => [
  arrayLiteral(values.map(({ stream }) => stream)),
  arrayLiteral(values.map(({ scope }) => scope)),
  arrayLiteral(values.map(({ id }) => id)),
];
