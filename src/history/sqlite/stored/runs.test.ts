/** Runs of messages against a plain list: what is added, read in both directions, and deleted in any portions. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { ALL, batchOf, message } from "../../testing/kit.ts";
import { SCHEMA } from "../file.ts";
import { SqliteHistory } from "../history.ts";
import { SqliteRuns } from "./runs.ts";

const TEXTS = ["", "a", '{"n":"Zoë \\"\\\\"}', "😀".repeat(3), "1,2;3\n4", "x".repeat(5000)];
const STREAM = 7;

function runs(): SqliteRuns {
  const db = new Database(":memory:", { strict: true });
  db.run(SCHEMA);
  return new SqliteRuns(db);
}

/** Numbers that look random, the same in every run. */
function* numbers(): Generator<number> {
  for (let n = 12345; ; n = (n * 1103515245 + 12345) % 2147483648) yield n;
}

test("any portions are read and deleted as single messages would be", () => {
  const store = runs();
  const random = numbers();
  const next = (below: number): number => random.next().value % below;
  const expected = new Map<number, string>();
  let top = 0;
  let low = 1;
  for (let step = 0; step < 400; step++) {
    const added = Array.from({ length: 1 + next(5) }, () => {
      const dataJson = TEXTS[next(TEXTS.length)] ?? "";
      const metadataJson = next(2) === 0 ? undefined : TEXTS[next(TEXTS.length)];
      return message({
        dataJson,
        metadataJson,
        connection: next(2) === 0 ? undefined : "c",
        id: next(3) === 0 ? "i" : undefined,
      });
    });
    for (const one of added)
      expected.set(
        ++top,
        JSON.stringify([one.from, one.metadataJson, one.dataJson, one.connection, one.id, one.bytes]),
      );
    store.add(STREAM, top, step, `b${step}`, added);
    if (next(3) === 0 && top - low > 3) {
      const end = low + next(top - low);
      const bytes = store.deleteUpTo(STREAM, end);
      let sum = 0;
      for (; low <= end; low++) {
        sum += JSON.parse(expected.get(low) ?? "").at(-1);
        expected.delete(low);
      }
      expect(bytes).toBe(sum);
    }
    const from = low + next(top - low + 1);
    const to = from + next(top - from + 1);
    for (const isAscending of [true, false]) {
      const read = [...store.read(STREAM, from, to, isAscending)];
      const offsets = Array.from({ length: to - from + 1 }, (_, at) => (isAscending ? from + at : to - at));
      expect(read.map(({ offset }) => offset)).toEqual(offsets);
      for (const one of read)
        expect(JSON.stringify([one.from, one.metadataJson, one.dataJson, one.connection, one.id, one.bytes])).toBe(
          expected.get(one.offset) ?? "",
        );
    }
    expect(store.at(STREAM, low - 1)).toBeUndefined();
    expect(store.at(STREAM, top)?.batch).toBe(`b${step}`);
  }
  while (store.deleteSome(STREAM));
  expect([...store.read(STREAM, 1, top, true)]).toEqual([]);
});

test("a batch for two channels is one run in each; a limit ends within a run", async () => {
  await using stack = new AsyncDisposableStack();
  const history = new SqliteHistory({ path: ":memory:", sync: "process", setAside: () => undefined });
  stack.defer(() => history.close());
  await history.append(
    batchOf(...Array.from({ length: 10 }, (_, n) => ({ channel: `c${n % 2}`, dataJson: String(n) }))),
  );
  const read = async (range: object): Promise<string[] | undefined> =>
    (await history.read(anAppId("app"), "c1", { ...ALL, ...range }))?.messages.map(({ dataJson }) => dataJson);
  expect(await read({ after: 1, limit: 2 })).toEqual(["3", "5"]);
  expect(await read({ after: undefined, before: 5, limit: 2 })).toEqual(["7", "5"]);
});
