import { expect, test } from "bun:test";
import type { Row, Table } from "./cells.ts";
import { walk } from "./walk.ts";

const TABLE: Table = {
  name: "things",
  columns: [
    { name: "id", kind: "integer" },
    { name: "text", kind: "text" },
  ],
  key: ["id"],
};

async function* pagesOf(rows: readonly Row[], size = 3): AsyncGenerator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

const rows = (from: number, to: number, text = "t"): Row[] =>
  Array.from({ length: to - from + 1 }, (_, at) => [String(from + at), text]);

/** What was written, and how often. */
async function synced(source: readonly Row[], target: readonly Row[]) {
  const present = new Map(target.map((row) => [row[0], row]));
  let batches = 0;
  const write = async ({ put, drop }: { put: readonly Row[]; drop: readonly Row[] }): Promise<void> => {
    batches++;
    for (const [id] of drop) present.delete(id);
    for (const row of put) present.set(row[0], row);
  };
  const walked = await walk({
    table: TABLE,
    source: pagesOf(source),
    target: pagesOf(target, 2),
    write,
    seen: () => undefined,
  });
  return { walked, batches, present: [...present.values()].sort((a, b) => Number(a[0]) - Number(b[0])) };
}

test("what is missing, differs or is too much is written, and nothing else", async () => {
  const target = [...rows(1, 4), ...rows(6, 6, "other"), ...rows(8, 12)];
  const { walked, present } = await synced(rows(3, 10), target);
  expect(present).toEqual(rows(3, 10));
  // Missing are 5 and 7, 6 differs; 1, 2, 11 and 12 are too much.
  expect(walked).toEqual({ rows: 8, put: 3, dropped: 4 });
});

test("equal tables cost no write, and an empty one is filled in batches", async () => {
  expect(await synced(rows(1, 100), rows(1, 100))).toMatchObject({
    walked: { rows: 100, put: 0, dropped: 0 },
    batches: 0,
  });
  const { walked, batches, present } = await synced(rows(1, 5000), []);
  expect([walked.put, present.length, batches]).toEqual([5000, 5000, 3]);
  expect((await synced([], rows(1, 7))).present).toEqual([]);
});

test("a NULL and an empty text differ", async () => {
  expect((await synced([["1", null]], [["1", ""]])).present).toEqual([["1", null]]);
});

test("without writing, differences are counted, and long rows by their weight", async () => {
  const walked = await walk({
    table: TABLE,
    source: pagesOf(rows(1, 5)),
    target: pagesOf(rows(2, 6)),
    weight: ([id]) => Number(id) * 10,
    seen: () => undefined,
  });
  expect(walked).toEqual({ rows: 150, put: 10, dropped: 60 });
});

test("every row of the source is reported once", async () => {
  let seen = 0;
  await walk({
    table: TABLE,
    source: pagesOf(rows(1, 10)),
    target: pagesOf([]),
    seen: (count) => {
      seen += count;
    },
  });
  expect(seen).toBe(10);
});
