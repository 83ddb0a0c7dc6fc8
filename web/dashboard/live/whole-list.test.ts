import { expect, test } from "bun:test";
import { reloaded } from "./whole-list.ts";

interface Row {
  readonly id: number;
}

const idOf = ({ id }: Row): string => String(id);
const rowsOf = (from: number, to: number): Row[] => Array.from({ length: to - from }, (_, at) => ({ id: from + at }));
const ids = (rows: readonly Row[]): number[] => rows.map(({ id }) => id);

/** A service that has these rows, and counts what it was asked for. */
function service(all: readonly Row[]) {
  const asked: string[] = [];
  const load = async (limit: number, after: string | undefined) => {
    asked.push(`${limit} after ${after ?? "nothing"}`);
    const from = after === undefined ? 0 : all.findIndex((row) => idOf(row) === after) + 1;
    const rows = all.slice(from, from + limit);
    const last = rows.at(-1);
    return { rows, next: from + limit < all.length && last ? idOf(last) : null };
  };
  return { asked, load };
}

const sizes = { idOf, page: 100, limitMax: 100 };

test("a short list is loaded with one call, and has what came and not what went", async () => {
  const { asked, load } = service([{ id: 9 }, { id: 1 }, { id: 3 }]);
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: rowsOf(1, 4), next: null }, load });
  expect([ids(rows), next, asked.length]).toEqual([[9, 1, 3], null, 1]);
});

test("as many rows as are shown are loaded, in pages that the call allows", async () => {
  const { asked, load } = service(rowsOf(0, 1000));
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: rowsOf(1, 251), next: "more" }, load });
  expect([rows.length, next]).toEqual([300, "299"]);
  expect(asked).toEqual(["100 after nothing", "100 after 99", "100 after 199"]);
});

test("a list that was shown to its end is loaded to its end", async () => {
  const { load } = service(rowsOf(0, 230));
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: rowsOf(10, 210), next: null }, load });
  expect([ids(rows), next]).toEqual([ids(rowsOf(0, 230)), null]);
});

test("of a long list the beginning and the end are loaded, and what is between them stays", async () => {
  const before = rowsOf(10, 1500);
  const { asked, load } = service([...rowsOf(0, 20), ...rowsOf(21, 1510)]);
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: before, next: null }, load });
  expect(asked).toHaveLength(6);
  expect([ids(rows), next]).toEqual([[...ids(rowsOf(0, 20)), ...ids(rowsOf(21, 1510))], null]);
});

test("a list that begins with more new rows than are loaded begins again", async () => {
  const { load } = service(rowsOf(0, 3000));
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: rowsOf(1000, 2000), next: "more" }, load });
  expect([ids(rows), next]).toEqual([ids(rowsOf(0, 500)), "499"]);
});

test("a long list that has more behind it goes on from where it was", async () => {
  const { load } = service(rowsOf(0, 3000));
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: rowsOf(1, 801), next: "800" }, load });
  expect([ids(rows), next]).toEqual([ids(rowsOf(0, 801)), "800"]);
});

test("a search that finds nothing in its first pages keeps what it has found behind them", async () => {
  let calls = 0;
  const load = async () => ({ rows: [] as Row[], next: String(++calls) });
  const { rows, next } = await reloaded({ ...sizes, shown: { rows: rowsOf(1, 3), next: "more" }, load });
  expect([ids(rows), next, calls]).toEqual([[1, 2], "more", 5]);
});
