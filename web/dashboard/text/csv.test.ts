/** CSV files that spreadsheets read as they are meant, and never run. */
import { expect, test } from "bun:test";
import { type CsvColumn, csvOf } from "./csv.ts";

interface Row {
  readonly name: string;
  readonly size?: number | null;
}

const COLUMNS: readonly CsvColumn<Row>[] = [
  { title: "Name", value: ({ name }) => name },
  { title: "Copy" },
  { title: "Size, bytes", value: ({ size }) => size },
];

const nameCell = (name: string): string =>
  csvOf(COLUMNS.slice(0, 1), [{ name }]).split("\r\n").slice(1, -1).join("\r\n");

test("a header, a line per row, and only columns with a value", () => {
  expect(csvOf(COLUMNS, [{ name: "a", size: -1 }, { name: "b", size: null }, { name: "" }])).toBe(
    'Name,"Size, bytes"\r\na,-1\r\nb,\r\n,\r\n',
  );
});

test.each([
  ["a,b", '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ["two\nlines", '"two\nlines"'],
  ["two\r\nlines", '"two\r\nlines"'],
  ["مفتاح 🛒", "مفتاح 🛒"],
  [" padded ", " padded "],
])("%j stays one cell", (name, expected) => {
  expect(nameCell(name)).toBe(expected);
});

test.each([
  ["=1+2", "'=1+2"],
  ["+49 30", "'+49 30"],
  ["-2+3", "'-2+3"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", "'\t=1"],
  ["\r=1", '"\'\r=1"'],
  ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
])("%j is a text, not a formula", (name, expected) => {
  expect(nameCell(name)).toBe(expected);
});

test("times are in ISO 8601, and a missing one is empty", () => {
  const columns = [{ title: "At", isTime: true, value: (at: number | null) => at }];
  expect(csvOf(columns, [0, null])).toBe("At\r\n1970-01-01T00:00:00.000Z\r\n\r\n");
});
