/** Part of the suite of every store: lists of recordings, with every filter, while recordings are added and deleted. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { anAppId } from "../../base/testing/ids.ts";
import { runs } from "../../testing/runs.ts";
import type { RecordingFilter, RecordingRow, RecordingType } from "../contract/recordings.ts";
import { type ListingLimits, RecordingLists } from "../sql/recordings/listing.ts";
import { type NewPlace, withApps } from "./places.ts";
import { databaseOf, fill, ids, record } from "./recordings.ts";
import { COMPLETION, uploadRow } from "./rows.ts";

const A = anAppId("a");

export function listingSuite(newPlace: NewPlace): void {
  describe("listing", () => {
    const smallLimits: ListingLimits = { narrowRows: 100, windowRows: 700 };
    test.each<[string, number, ListingLimits | undefined]>([
      ["few recordings", 300, undefined],
      ["many recordings", 9000, undefined],
      ["many recordings in small windows", 9000, smallLimits],
    ])("%s: every filter gives what it matches, in order, and its total", async (_name, count, limits) => {
      const whole = await withApps(await newPlace());
      const store = new RecordingLists(databaseOf(whole), limits);
      const all = await fill(whole, count);
      await fc.assert(
        fc.asyncProperty(
          filterArb,
          fc.constantFrom("asc" as const, "desc" as const),
          fc.integer({ min: 1, max: 100 }),
          fc.option(fc.nat(count), { nil: undefined }),
          async (filter, order, limit, after) => {
            const fitting = all.filter((row) => matches(row, filter));
            const inOrder = order === "asc" ? fitting : fitting.toReversed();
            const rest = inOrder.filter(
              ({ seq }) => after === undefined || (order === "asc" ? seq > after : seq < after),
            );
            expect(await store.page(A, { filter, order, limit, after })).toEqual(rest.slice(0, limit));
            expect(await store.totalOf(A, filter)).toBe(fitting.length);
          },
        ),
        { numRuns: runs(150) },
      );
      expect(await store.page(anAppId("b"), { filter: {}, order: "asc", limit: 10 })).toEqual([]);
      await whole.close();
    });
  });

  describe("pages", () => {
    test("miss and repeat nothing while recordings are begun, completed out of order, and deleted", async () => {
      const act = fc.oneof(
        fc.record({ kind: fc.constant("begin" as const) }),
        fc.record({ kind: fc.constant("complete" as const), which: fc.nat() }),
        fc.record({ kind: fc.constant("delete" as const), which: fc.nat() }),
        fc.record({ kind: fc.constant("page" as const) }),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(act, { minLength: 5, maxLength: 40 }),
          fc.constantFrom("asc" as const, "desc" as const),
          fc.integer({ min: 1, max: 3 }),
          fc.boolean(),
          (acts, order, limit, filtered) => walk(newPlace, acts, order, limit, filtered ? { type: "video" } : {}),
        ),
        // Each run has a database of its own, which takes a second on PostgreSQL.
        { numRuns: runs(40) },
      );
    });
  });
}

/** Few values, so that most filters match something. */
const filterArb: fc.Arbitrary<RecordingFilter> = fc.record(
  {
    room: fc.constantFrom("r0", "r1", "r2", "r9"),
    meetingSession: fc.constantFrom("m0", "m1", "m5"),
    participantSession: fc.constantFrom("p0", "p3"),
    participantUsername: fc.constantFrom("u0", "u1", "ü'; DROP"),
    type: fc.constantFrom<RecordingType>("video", "audio", "screen", "composition"),
    startedAfter: fc.nat(40),
    startedBefore: fc.nat(40),
  },
  { requiredKeys: [] },
);

const matches = (row: RecordingRow, filter: RecordingFilter): boolean =>
  (filter.room === undefined || row.room === filter.room) &&
  (filter.meetingSession === undefined || row.meetingSession === filter.meetingSession) &&
  (filter.participantSession === undefined || row.participantSession === filter.participantSession) &&
  (filter.participantUsername === undefined || row.participantUsername === filter.participantUsername) &&
  (filter.type === undefined || row.type === filter.type) &&
  (filter.startedAfter === undefined || row.startTime >= filter.startedAfter) &&
  (filter.startedBefore === undefined || row.startTime < filter.startedBefore);

type Act = { kind: "begin" } | { kind: "complete" | "delete"; which: number } | { kind: "page" };

/** A reader walks from page to page by the id of the last row, while recordings are added and deleted. */
async function walk(
  newPlace: NewPlace,
  acts: Act[],
  order: "asc" | "desc",
  limit: number,
  filter: RecordingFilter,
): Promise<void> {
  const opened = await withApps(await newPlace());
  const store = opened.recordings;
  const open: string[] = [];
  const live = new Set<string>();
  for (let i = 0; i < 6; i++) {
    await record(store, `first${i}`);
    live.add(`first${i}`);
  }
  const atFirst = [...live];
  const completed: string[] = [...atFirst];
  const seen: string[] = [];
  const deletedBeforeSeen = new Set<string>();
  let endId: string | undefined;
  let count = 0;
  const page = async (): Promise<boolean> => {
    const after = endId === undefined ? undefined : await store.seqOf(A, endId);
    if (endId !== undefined) expect(after).toBeNumber();
    const rows = await store.page(A, { filter, order, limit, after });
    seen.push(...ids(rows));
    endId = rows.at(-1)?.id ?? endId;
    expect(await store.totalOf(A, filter)).toBe(live.size);
    return rows.length === limit;
  };
  for (const one of acts) {
    if (one.kind === "begin") {
      const id = `u${count++}`;
      await store.addUpload(uploadRow(id), 1e9);
      open.push(id);
    } else if (one.kind === "complete" && open.length > 0) {
      // Any open upload, so that they are not completed in the order in which they were begun.
      const [id = ""] = open.splice(one.which % open.length, 1);
      await store.complete(id, 0, COMPLETION);
      live.add(id);
      completed.push(id);
    } else if (one.kind === "delete" && live.size > 0) {
      const id = [...live][one.which % live.size] as string;
      expect(await store.deleteRecordings(A, [id])).toEqual([id]);
      live.delete(id);
      if (!seen.includes(id)) deletedBeforeSeen.add(id);
    } else if (one.kind === "page") await page();
  }
  while (await page());
  // Nothing twice, in the order of completion, nothing that was deleted before its page.
  expect(new Set(seen).size).toBe(seen.length);
  const inOrder = (order === "asc" ? completed : completed.toReversed()).filter((id) => seen.includes(id));
  expect(seen).toEqual(inOrder);
  for (const id of deletedBeforeSeen) expect(seen).not.toContain(id);
  // Oldest first, a reader misses none. Newest first, it sees all that were complete when it began.
  const must = order === "asc" ? completed : atFirst;
  for (const id of must) if (!deletedBeforeSeen.has(id)) expect(seen).toContain(id);
  await opened.close();
}
