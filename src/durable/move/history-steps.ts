/**
 * The history, which the two databases lay out differently: SQLite has one row per batch and stream (a run), PostgreSQL one per message. Epochs, offsets,
 * checks and ids stay the same, so that the positions of clients stay valid.
 */
import { bodyOf, messagesOf, type RunTexts } from "../../history/sqlite/stored/runs.ts";
import type { Column, Kind, Row, Table } from "./cells.ts";
import { COPYING, createdToPostgres, createdToSqlite } from "./created-steps.ts";
import type { Converted, Step } from "./step.ts";
import type { Pages, Reading, Tables } from "./tables.ts";

const columns = (kind: Kind, ...names: string[]): Column[] => names.map((name) => ({ name, kind }));

const STREAM: readonly Column[] = [
  ...columns("integer", "id"),
  ...columns("text", "app", "channel", "epoch"),
  ...columns("integer", "top"),
  ...columns("text", "top_check"),
  ...columns("integer", "low"),
  ...columns("text", "low_check"),
  ...columns("integer", "last_time", "bytes", "keep_messages", "keep_ms", "expires", "changed", "used", "ids_of"),
];

/** PostgreSQL also has what it needs to find the streams that trimming has to look at. */
const POSTGRES_STREAM: readonly Column[] = [
  ...STREAM,
  ...columns("integer", "low_time"),
  ...columns("flag", "is_overfull"),
];

const ID: readonly Column[] = [
  ...columns("integer", "stream"),
  ...columns("text", "scope", "mid"),
  ...columns("integer", "off"),
  ...columns("text", "batch"),
  ...columns("integer", "time"),
  ...columns("text", "epoch"),
];

const GONE: readonly Column[] = columns("integer", "stream");

const RUN: readonly Column[] = [
  ...columns("integer", "stream", "last", "first", "time", "size"),
  ...columns("text", "batch", "body"),
];

const MESSAGE: readonly Column[] = [
  ...columns("integer", "stream", "off", "time", "size"),
  ...columns("text", "batch", "sender", "connection", "mid", "metadata", "data"),
];

/** Adding up the streams is quicker than counting messages. */
const counting = (source: Tables, statement: string) => async (): Promise<number> =>
  Number((await source.value(statement)) ?? 0);

const stepsFrom = (source: Tables, into: Tables, all: readonly Converted[]): Step[] =>
  all.map(({ table, source: rows, count, ...rest }) => ({
    ...rest,
    table,
    into,
    group: table.name,
    source: rows,
    target: () => into.pages({ columns: table.columns, from: table.name, key: table.key }),
    count: counting(source, count),
  }));

export function historyToPostgres(source: Tables, into: Tables): Step[] {
  const streams: Table = { name: "history_streams", columns: POSTGRES_STREAM, key: ["id"] };
  const messages: Table = { name: "history_messages", columns: MESSAGE, key: ["stream", "off"] };
  const ids: Table = { name: "history_ids", columns: ID, key: ["stream", "scope", "mid"] };
  const gone: Table = { name: "history_gone", columns: GONE, key: ["stream"] };
  const reading = ({ columns, key }: Table, from: string, select = {}): Reading => ({ columns, from, key, select });
  const derived = {
    low_time: "COALESCE(expires - keep_ms, 0)",
    is_overfull: "top - low + 1 > keep_messages",
  };
  const runs: Reading = { columns: RUN, from: "runs", key: ["stream", "last"] };
  return stepsFrom(source, into, [
    {
      name: "history_streams",
      table: streams,
      source: () => source.pages({ ...reading(streams, "streams", derived), where: `id NOT IN (${COPYING})` }),
      count: "SELECT COUNT(*) FROM streams",
    },
    {
      name: "history_messages",
      table: messages,
      source: () => messagesIn(source.pages(runs)),
      count: "SELECT SUM(top - low + 1) FROM streams",
    },
    {
      name: "history_ids",
      table: ids,
      source: () => source.pages(reading(ids, "ids")),
      count: "SELECT COUNT(*) FROM ids",
    },
    {
      name: "history_gone",
      table: gone,
      source: () => source.pages(reading(gone, `(SELECT stream FROM gone UNION ${COPYING}) AS gone`)),
      count: "SELECT COUNT(*) FROM gone",
    },
    ...createdToPostgres(source),
  ]);
}

export function historyToSqlite(source: Tables, into: Tables): Step[] {
  const streams: Table = { name: "streams", columns: STREAM, key: ["id"] };
  const runs: Table = { name: "runs", columns: RUN, key: ["stream", "last"] };
  const ids: Table = { name: "ids", columns: [...columns("integer", "seq"), ...ID], key: ["seq"] };
  const gone: Table = { name: "gone", columns: GONE, key: ["stream"] };
  const messages: Reading = {
    columns: MESSAGE,
    from: "history_messages",
    key: ["stream", "off"],
    // What is below has been trimmed, and is still to be deleted; SQLite deletes it at once. A removed stream is not in the table.
    where: "off >= coalesce((SELECT s.low FROM history_streams s WHERE s.id = stream), 0)",
  };
  // SQLite has them in the order of time.
  const inOrder = `(SELECT row_number() OVER (ORDER BY time, stream, off, scope, mid) AS seq, ${ID.map(({ name }) => name).join(", ")} FROM history_ids) AS ids`;
  return stepsFrom(source, into, [
    {
      name: "history_streams",
      table: streams,
      source: () => source.pages({ columns: STREAM, from: "history_streams", key: ["id"] }),
      count: "SELECT COUNT(*) FROM history_streams",
    },
    {
      name: "history_messages",
      table: runs,
      weight: ([, last, first]) => Number(last) - Number(first) + 1,
      source: () => runsOf(source.pages(messages)),
      count: "SELECT SUM(top - low + 1) FROM history_streams",
    },
    {
      name: "history_ids",
      table: ids,
      source: () => source.pages({ columns: ids.columns, from: inOrder, key: ["seq"] }),
      count: "SELECT COUNT(*) FROM history_ids",
    },
    {
      name: "history_gone",
      table: gone,
      source: () => source.pages({ columns: GONE, from: "history_gone", key: ["stream"] }),
      count: "SELECT COUNT(*) FROM history_gone",
    },
    ...createdToSqlite(source),
  ]);
}

async function* messagesIn(runs: Pages): Pages {
  for await (const page of runs) yield page.flatMap(messagesOfRun);
}

function messagesOfRun([stream, last, first, time, , batch, body]: Row): Row[] {
  const run = { first: Number(first), last: Number(last), time: Number(time), batch: batch ?? "", body: body ?? "" };
  return messagesOf(run).map((one) => [
    stream ?? null,
    String(one.offset),
    time ?? null,
    String(one.bytes),
    batch ?? null,
    one.from,
    one.connection ?? null,
    one.id ?? null,
    one.metadataJson ?? null,
    one.dataJson,
  ]);
}

/** A run that is being read. */
interface OpenRun {
  readonly stream: string;
  readonly time: string;
  readonly batch: string;
  readonly first: number;
  last: number;
  size: number;
  readonly texts: RunTexts[];
}

/** What one batch has stored in one stream has offsets without a gap. */
async function* runsOf(messages: Pages): Pages {
  let open: OpenRun | undefined;
  for await (const page of messages) {
    const complete: Row[] = [];
    for (const row of page) {
      if (open && isOf(open, row)) extend(open, row);
      else {
        if (open) complete.push(rowOf(open));
        open = begin(row);
      }
    }
    if (complete.length > 0) yield complete;
  }
  if (open) yield [rowOf(open)];
}

const isOf = ({ stream, time, batch, last }: OpenRun, row: Row): boolean =>
  row[0] === stream && row[2] === time && row[4] === batch && Number(row[1]) === last + 1;

function begin(row: Row): OpenRun {
  const first = Number(row[1]);
  const open = {
    stream: row[0] ?? "",
    time: row[2] ?? "",
    batch: row[4] ?? "",
    first,
    last: first - 1,
    size: 0,
    texts: [],
  };
  extend(open, row);
  return open;
}

function extend(open: OpenRun, [, , , size, , sender, connection, mid, metadata, data]: Row): void {
  open.last++;
  open.size += Number(size);
  open.texts.push({
    from: sender ?? "",
    connection: connection ?? undefined,
    id: mid ?? undefined,
    metadataJson: metadata ?? undefined,
    dataJson: data ?? "",
    bytes: Number(size),
  });
}

const rowOf = ({ stream, time, batch, first, last, size, texts }: OpenRun): Row => [
  stream,
  String(last),
  String(first),
  time,
  String(size),
  batch,
  bodyOf(texts),
];
