/** A statement that is put together in parts, such as one over recordings from conditions. */
import type { SQL } from "bun";
import type { AppId } from "../../base/ids.ts";
import type { DbRow } from "./rows.ts";

type Column =
  | "seq"
  | "participant_session"
  | "meeting_session"
  | "room"
  | "participant_username"
  | "type"
  | "start_time";
type Operator = "=" | ">=" | "<=" | "<" | ">";

export interface Condition {
  readonly column: Column;
  readonly operator: Operator;
  readonly value: string | number;
  /** Written as an expression, so that the database uses no index for this condition. */
  readonly isFenced: boolean;
}

/** No condition where there is no value. */
export const condition = (column: Column, operator: Operator, value: string | number | undefined): Condition[] =>
  value === undefined ? [] : [{ column, operator, value, isFenced: false }];

export const fenced = (conditions: readonly Condition[]): Condition[] =>
  conditions.map((one) => ({ ...one, isFenced: true }));

export class Statement {
  private text = "";
  /** Bound: the parameters of one statement. */
  private readonly values: (string | number)[] = [];

  add(text: string): this {
    this.text += text;
    return this;
  }

  from(app: AppId, conditions: readonly Condition[]): this {
    return this.add(` FROM recordings WHERE app = ${this.value(app)}${this.and(conditions)}`);
  }

  /** A column `matching`: 1 for rows that meet the conditions, else 0. */
  matching(conditions: readonly Condition[]): this {
    return this.add(`CASE WHEN 1 = 1${this.and(conditions)} THEN 1 ELSE 0 END AS matching`);
  }

  /** The placeholder of a value. */
  value(value: string | number): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  run(sql: SQL): Promise<DbRow[]> {
    return sql.unsafe(this.text, this.values);
  }

  private and(conditions: readonly Condition[]): string {
    return conditions
      .map(({ column, operator, value, isFenced }) => {
        const expression = typeof value === "number" ? `${column} + 0` : `(${column} || '')`;
        return ` AND ${isFenced ? expression : column} ${operator} ${this.value(value)}`;
      })
      .join("");
  }
}
