/** Created streams, which the two databases keep with the same values: PostgreSQL has some of them once more, to find and to add them up. */
import { mediaTypeOf } from "../../protocol/streams/data.ts";
import type { Column, Kind, Table } from "./cells.ts";
import type { Converted } from "./step.ts";
import type { Pages, Tables } from "./tables.ts";

const columns = (kind: Kind, ...names: string[]): Column[] => names.map((name) => ({ name, kind }));

const CREATED: readonly Column[] = [
  ...columns("integer", "stream"),
  ...columns("text", "type"),
  ...columns("integer", "ttl_ms", "expires_at", "idle_ms", "made", "used", "ends", "changed"),
  ...columns("text", "closed", "seq", "fork"),
  ...columns("integer", "source"),
  ...columns("text", "lineage"),
];

const PRODUCER: readonly Column[] = [
  ...columns("integer", "stream"),
  ...columns("text", "owner", "pid"),
  ...columns("integer", "epoch", "seq", "used"),
];
const PRODUCER_KEY = ["stream", "owner", "pid"];

/** A fork that is not complete is in no other table of the target, and its messages are deleted there. */
export const COPYING = "SELECT stream FROM created WHERE state = 'copying'";

export function createdToPostgres(source: Tables): Converted[] {
  const created: Table = {
    name: "history_created",
    columns: [...CREATED, ...columns("text", "media"), ...columns("integer", "due"), ...columns("flag", "is_gone")],
    key: ["stream"],
  };
  const producers: Table = {
    name: "history_producers",
    columns: [...PRODUCER, ...columns("integer", "day")],
    key: PRODUCER_KEY,
  };
  const held: Table = {
    name: "history_held",
    columns: [...columns("text", "app"), ...columns("integer", "part", "streams", "bytes")],
    key: ["app", "part"],
  };
  const sums = `SELECT app, 0 AS part, COUNT(*) AS streams, SUM(bytes) AS bytes FROM streams
    WHERE id IN (SELECT stream FROM created WHERE state <> 'copying') GROUP BY app`;
  return [
    {
      name: "history_created",
      table: created,
      source: () =>
        withMedia(
          source.pages({
            columns: created.columns,
            from: "created",
            key: created.key,
            select: { media: "type", due: "ends", is_gone: "state = 'gone'" },
            where: "state <> 'copying'",
          }),
          created.columns,
        ),
      count: "SELECT COUNT(*) FROM created WHERE state <> 'copying'",
    },
    {
      name: "history_producers",
      table: producers,
      source: () =>
        source.pages({
          columns: producers.columns,
          from: "producers",
          key: PRODUCER_KEY,
          // Those of created streams stay as long as these.
          select: { day: "CASE WHEN stream IN (SELECT stream FROM created) THEN NULL ELSE used / 86400000 END" },
        }),
      count: "SELECT COUNT(*) FROM producers",
    },
    {
      name: "history_held",
      table: held,
      source: () => source.pages({ columns: held.columns, from: `(${sums}) AS held`, key: held.key }),
      count: `SELECT COUNT(*) FROM (${sums})`,
    },
  ];
}

/** `media` has been read as the whole type. */
async function* withMedia(pages: Pages, named: readonly Column[]): Pages {
  const at = named.findIndex(({ name }) => name === "media");
  for await (const page of pages) yield page.map((row) => row.with(at, mediaTypeOf(row[at] ?? "")));
}

export function createdToSqlite(source: Tables): Converted[] {
  const created: Table = { name: "created", columns: [...CREATED, ...columns("text", "state")], key: ["stream"] };
  const producers: Table = { name: "producers", columns: PRODUCER, key: PRODUCER_KEY };
  return [
    {
      name: "history_created",
      table: created,
      source: () =>
        source.pages({
          columns: created.columns,
          from: "history_created",
          key: created.key,
          select: { state: "CASE WHEN is_gone THEN 'gone' ELSE 'ready' END" },
        }),
      count: "SELECT COUNT(*) FROM history_created",
    },
    {
      name: "history_producers",
      table: producers,
      source: () => source.pages({ columns: PRODUCER, from: "history_producers", key: PRODUCER_KEY }),
      count: "SELECT COUNT(*) FROM history_producers",
    },
  ];
}
