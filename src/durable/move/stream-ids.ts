/** The last id that a stream got. Ids are never used for a second stream: rows of removed ones may still have them. */
import { compareIntegers } from "./cells.ts";
import type { Side } from "./side.ts";

const SEQUENCE = "pg_get_serial_sequence('history_streams', 'id')";

type History = Pick<Side, "engine" | "history">;

/** The id that the database gave last; "0" if it gave none. */
export async function lastGivenId({ engine, history }: History): Promise<string> {
  const statement =
    engine === "postgres"
      ? `SELECT pg_sequence_last_value(${SEQUENCE}::REGCLASS)::TEXT`
      : "SELECT CAST(seq AS TEXT) FROM sqlite_sequence WHERE name = 'streams'";
  return (await history.value(statement)) ?? "0";
}

/** The largest id that a stream has or had. */
export async function lastStreamId(side: History): Promise<string> {
  const statement =
    side.engine === "postgres"
      ? "SELECT MAX(id)::TEXT FROM history_streams"
      : "SELECT CAST(MAX(id) AS TEXT) FROM streams";
  const [given, largest] = [await lastGivenId(side), (await side.history.value(statement)) ?? "0"];
  return compareIntegers(given, largest) < 0 ? largest : given;
}

/** New streams get larger ids. */
export async function setLastStreamId({ engine, history }: History, id: string): Promise<void> {
  if (engine === "postgres")
    await (id === "0"
      ? history.value(`SELECT setval(${SEQUENCE}, 1, false)`)
      : history.value(`SELECT setval(${SEQUENCE}, $1::TEXT::BIGINT)`, id));
  else if (
    (await history.value(
      "UPDATE sqlite_sequence SET seq = CAST($1 AS INTEGER) WHERE name = 'streams' RETURNING seq",
      id,
    )) === undefined
  )
    await history.value(
      "INSERT INTO sqlite_sequence (name, seq) VALUES ('streams', CAST($1 AS INTEGER)) RETURNING seq",
      id,
    );
}
