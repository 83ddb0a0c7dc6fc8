/**
 * Which recordings a filter matches, without looking at those it does not.
 *
 * A filter may name several fields, and databases guess badly which of them is the rare one. So the way in is chosen here: every
 * field, and every pair of fields that may both match many, has an index that ends in `seq`; a short look into each that fits
 * says which one leads to few rows. That one is walked; the other conditions are written so that no database takes them for a
 * way in, and neither is the order: a page of few rows is sorted. Where every way leads to many rows, the order itself is
 * walked: a page is found soon then.
 */
import type { SQL } from "bun";
import type { PageWanted, RecordingFilter, RecordingRow } from "./recordings.ts";
import { type DbRow, toRecording } from "./rows.ts";

/** What a way in may lead to and still be short. */
const FEW_ROWS = 2000;

type Column = "participant_session" | "meeting_session" | "room" | "participant_username" | "type" | "start_time";

/** As the indexes of 0004_recordings.sql have them, the most telling first. */
const WAYS: readonly (readonly Column[])[] = [
  ["participant_session"],
  ["meeting_session"],
  ["room", "participant_username"],
  ["participant_username", "start_time"],
  ["room", "start_time"],
  ["room", "type"],
  ["participant_username", "type"],
  ["type", "start_time"],
  ["participant_username"],
  ["room"],
  ["start_time"],
  ["type"],
];

interface Condition {
  readonly column: Column | "seq";
  readonly sign: "=" | ">=" | "<" | ">";
  readonly value: string | number;
}

function conditionsOf(filter: RecordingFilter): Condition[] {
  const equal: [Column, string | undefined][] = [
    ["participant_session", filter.participantSession],
    ["meeting_session", filter.meetingSession],
    ["room", filter.room],
    ["participant_username", filter.participantUsername],
    ["type", filter.type],
  ];
  return [
    ...equal.flatMap(([column, value]): Condition[] => (value === undefined ? [] : [{ column, sign: "=", value }])),
    ...bound("start_time", ">=", filter.startedAfter),
    ...bound("start_time", "<", filter.startedBefore),
  ];
}

const bound = (column: Condition["column"], sign: Condition["sign"], value: number | undefined): Condition[] =>
  value === undefined ? [] : [{ column, sign, value }];

/** A statement with its values, numbered in the order in which they stand. */
class Statement {
  text = "";
  readonly values: (string | number)[] = [];

  add(text: string): this {
    this.text += text;
    return this;
  }

  /** `way`: the conditions an index may be used for. The others are looked at row by row. */
  where(app: string, way: readonly Condition[], others: readonly Condition[] = []): this {
    this.text += ` FROM recordings WHERE app = ${this.value(app)}`;
    for (const { column, sign, value } of way) this.text += ` AND ${column} ${sign} ${this.value(value)}`;
    for (const { column, sign, value } of others)
      this.text += ` AND ${typeof value === "number" ? `${column} + 0` : `(${column} || '')`} ${sign} ${this.value(value)}`;
    return this;
  }

  value(value: string | number): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  run(sql: SQL): Promise<DbRow[]> {
    return sql.unsafe(this.text, this.values);
  }
}

interface Plan {
  readonly way: readonly Condition[];
  readonly others: readonly Condition[];
  /** It leads to few rows. */
  readonly isShort?: true;
}

const planOf = (conditions: readonly Condition[], columns: readonly Column[]): Plan => {
  const isOn = ({ column }: Condition): boolean => column !== "seq" && columns.includes(column);
  return { way: conditions.filter(isOn), others: conditions.filter((one) => !isOn(one)) };
};

/** Ways whose columns are all filtered by, without those that another one only narrows. */
function waysFor(conditions: readonly Condition[]): (readonly Column[])[] {
  const has = (column: Column): boolean => conditions.some((one) => one.column === column);
  const fitting = WAYS.filter((way) => way.every(has));
  return fitting.filter(
    (way) => !fitting.some((other) => other.length > way.length && way.every((column) => other.includes(column))),
  );
}

/** The first way that leads to few rows. */
async function shortWay(sql: SQL, app: string, conditions: readonly Condition[]): Promise<Plan | undefined> {
  for (const columns of waysFor(conditions)) {
    const plan = planOf(conditions, columns);
    const look = new Statement().add("SELECT COUNT(*) AS n FROM (SELECT seq").where(app, plan.way);
    const rows = await look.add(` LIMIT ${look.value(FEW_ROWS + 1)}) AS found`).run(sql);
    if (Number(rows[0]?.n) <= FEW_ROWS) return { ...plan, isShort: true };
  }
  return undefined;
}

export async function pageOf(sql: SQL, app: string, wanted: PageWanted): Promise<RecordingRow[]> {
  const statement = pageStatement(app, wanted, await pagePlan(sql, app, conditionsOf(wanted.filter)));
  return (await statement.run(sql)).map(toRecording);
}

async function pagePlan(sql: SQL, app: string, conditions: readonly Condition[]): Promise<Plan> {
  const short = await shortWay(sql, app, conditions);
  if (short) return short;
  // Along the order: an index in which the rows of one value stand in it, or the order of all.
  const ordered = waysFor(conditions.filter(({ column }) => column !== "start_time"))[0] ?? [];
  return planOf(conditions, ordered);
}

function pageStatement(app: string, { order, limit, behind }: PageWanted, { way, others, isShort }: Plan): Statement {
  const [sign, direction] = order === "asc" ? ([">", "ASC"] as const) : (["<", "DESC"] as const);
  const from = bound("seq", sign, behind);
  // Inside only what the index itself holds; whole rows are fetched for the page alone.
  const statement = new Statement();
  statement.add(`SELECT * FROM recordings WHERE app = ${statement.value(app)} AND seq IN (SELECT seq`);
  if (isShort) statement.where(app, way, [...others, ...from]).add(` ORDER BY seq + 0 ${direction}`);
  else statement.where(app, [...way, ...from], others).add(` ORDER BY seq ${direction}`);
  return statement.add(` LIMIT ${statement.value(limit)}) ORDER BY seq ${direction}`);
}

export async function totalOf(sql: SQL, app: string, filter: RecordingFilter): Promise<number> {
  const conditions = conditionsOf(filter);
  if (conditions.length === 0) {
    const rows: DbRow[] = await sql`SELECT live FROM recording_counters WHERE app = ${app}`;
    return Number(rows[0]?.live ?? 0);
  }
  const short = await shortWay(sql, app, conditions);
  const { way, others } = short ?? planOf(conditions, waysFor(conditions)[0] ?? []);
  const rows = await new Statement().add("SELECT COUNT(*) AS n").where(app, way, others).run(sql);
  return Number(rows[0]?.n);
}
