/** Lists as CSV files (RFC 4180), for spreadsheets and scripts. */

export type Value = string | number | boolean | null | undefined;

export interface CsvColumn<T> {
  readonly title: string;
  /** Columns without it are left out, such as those of buttons. */
  readonly value?: ((row: T) => Value) | undefined;
  /** `value` is in Unix seconds: the file has it in ISO 8601. */
  readonly isTime?: boolean | undefined;
}

/** What a spreadsheet would run: a text in a list comes from clients and backends. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: Value, isTime: boolean): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return isTime ? new Date(Number(value) * 1000).toISOString() : String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf<T>(columns: readonly CsvColumn<T>[], rows: readonly T[]): string {
  const given = columns.flatMap(({ value, ...rest }) => (value ? [{ ...rest, value }] : []));
  const lines = [
    given.map(({ title }) => cell(title, false)),
    ...rows.map((row) => given.map(({ value, isTime = false }) => cell(value(row), isTime))),
  ];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}
