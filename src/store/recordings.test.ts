import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { openStore } from "./open.ts";
import type { RecordingFilter, RecordingRow, RecordingStore, RecordingType, UploadRow } from "./recordings.ts";
import type { SqlStore } from "./sql.ts";

const made: string[] = [];
const opened: SqlStore[] = [];
afterAll(async () => {
  for (const store of opened) await store.close();
  for (const folder of made) rmSync(folder, { recursive: true });
});

async function newStore(): Promise<SqlStore> {
  const folder = mkdtempSync(join(tmpdir(), "parley-recordings-"));
  made.push(folder);
  const store = await openStore(folder);
  opened.push(store);
  await store.change(async (change) => {
    for (const id of ["a", "b"])
      await change.putApp({
        id,
        name: id,
        secretSealed: "",
        secretDigest: "",
        planName: "",
        maxConcurrentConnections: null,
        maxMessagesPerPeriod: null,
        retentionDays: null,
        created: 0,
        deleted: null,
      });
  });
  return store;
}

const upload = (id: string, fields: Partial<UploadRow> = {}): UploadRow => ({
  id,
  app: "a",
  room: "r1",
  participantSession: "p1",
  meetingSession: "m1",
  participantUsername: "ann",
  type: "video",
  startTime: 100,
  ticket: "t",
  total: null,
  touched: 1000,
  ...fields,
});

const COMPLETION = { endTime: 200, fileName: "f.webm", format: "webm", sizeInBytes: 10, completed: 5000 } as const;

async function record(store: RecordingStore, id: string, fields: Partial<UploadRow> = {}): Promise<RecordingRow> {
  expect(await store.addUpload(upload(id, fields), 1e9)).toBe(true);
  const row = await store.complete(id, COMPLETION);
  if (!row) throw new Error("it was not open");
  return row;
}

const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

describe("uploads", () => {
  test("at most so many are open in an application, also when all are begun at once", async () => {
    const { recordings: store } = await newStore();
    const added = await Promise.all(Array.from({ length: 9 }, (_, i) => store.addUpload(upload(`u${i}`), 5)));
    expect(added.filter(Boolean)).toHaveLength(5);
    expect(await store.addUpload(upload("other", { app: "b" }), 5)).toBe(true);
    expect(await store.endUpload("u0", 1)).toBe(true);
    expect(await store.addUpload(upload("again"), 5)).toBe(true);
  });

  test("a total is kept from the first that names one", async () => {
    const { recordings: store } = await newStore();
    await store.addUpload(upload("u"), 5);
    expect((await store.touchUpload("u", null, 2000))?.total).toBeNull();
    expect((await store.touchUpload("u", 7, 2000))?.total).toBe(7);
    expect(await store.touchUpload("u", 9, 3000)).toMatchObject({ total: 7, touched: 3000 });
  });

  test("one is completed once, and by one of those who ask", async () => {
    const { recordings: store } = await newStore();
    await store.addUpload(upload("u"), 5);
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => store.complete("u", COMPLETION)));
    expect(outcomes.filter((row) => row !== undefined)).toHaveLength(1);
    expect(await store.totalOf("a", {})).toBe(1);
    expect(await store.upload("a", "u")).toBeUndefined();
    expect(await store.endUpload("u", 1)).toBe(false);
  });

  test("one that is ended is not completed, and stays noted until its bytes are gone", async () => {
    const { recordings: store } = await newStore();
    await store.addUpload(upload("u"), 5);
    expect(await store.endUpload("u", 9, 1000)).toBe(false);
    expect(await store.endUpload("u", 9, 1001)).toBe(true);
    expect(await store.endUpload("u", 9)).toBe(false);
    expect(await store.complete("u", COMPLETION)).toBeUndefined();
    expect(await store.touchUpload("u", 5, 9)).toBeUndefined();
    expect(ids(await store.endedUploads(10))).toEqual(["u"]);
    expect(await store.knownIds(["u"])).toEqual(new Set(["u"]));
    await store.forgetUpload("u");
    expect(await store.endedUploads(10)).toEqual([]);
  });

  test("those without a sign of life are found, and others' applications' are not taken for one's own", async () => {
    const { recordings: store } = await newStore();
    await store.addUpload(upload("old", { touched: 1 }), 5);
    await store.addUpload(upload("young", { touched: 50 }), 5);
    expect(ids(await store.uploadsTouchedBefore(50, 10))).toEqual(["old"]);
    expect(await store.upload("b", "old")).toBeUndefined();
  });
});

describe("deleting", () => {
  test("leaves the place in the order, and a note until the bytes are gone", async () => {
    const { recordings: store } = await newStore();
    for (const id of ["x", "y", "z"]) await record(store, id);
    expect(await store.deleteRecordings("b", ["y"])).toEqual([]);
    expect(await store.deleteRecordings("a", ["y", "nothing"])).toEqual(["y"]);
    expect(await store.deleteRecordings("a", ["y"])).toEqual([]);
    expect(await store.totalOf("a", {})).toBe(2);
    expect(await store.seqOf("a", "y")).toBe(2);
    expect(await store.seqOf("b", "y")).toBeUndefined();
    expect(await store.seqOf("a", "nothing")).toBeUndefined();
    expect(await store.deletedRecordings(10)).toEqual([{ app: "a", id: "y" }]);
    await store.removed(["y"], 1);
    expect(await store.deletedRecordings(10)).toEqual([]);
    expect(await store.seqOf("a", "y")).toBe(2);
    expect((await record(store, "later")).seq).toBe(4);
  });
});

/** Few values, so that filters meet; and as many as make some ways long. */
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

describe("listing", () => {
  test.each([
    ["few rows", 300],
    ["so many that most ways are long", 9000],
  ])("%s: every filter gives what it matches, in order, and its total", async (_name, count) => {
    const whole = await newStore();
    const store = whole.recordings;
    const all = await fill(whole, count);
    await fc.assert(
      fc.asyncProperty(
        filterArb,
        fc.constantFrom("asc" as const, "desc" as const),
        fc.integer({ min: 1, max: 100 }),
        fc.option(fc.nat(count), { nil: undefined }),
        async (filter, order, limit, behind) => {
          const fitting = all.filter((row) => matches(row, filter));
          const inOrder = order === "asc" ? fitting : fitting.toReversed();
          const rest = inOrder.filter(
            ({ seq }) => behind === undefined || (order === "asc" ? seq > behind : seq < behind),
          );
          expect(await store.page("a", { filter, order, limit, behind })).toEqual(rest.slice(0, limit));
          expect(await store.totalOf("a", filter)).toBe(fitting.length);
        },
      ),
      { numRuns: 150 },
    );
    expect(await store.page("b", { filter: {}, order: "asc", limit: 10 })).toEqual([]);
  });
});

/** Written directly: the way through uploads would take a sync for each. */
async function fill(store: SqlStore, count: number): Promise<RecordingRow[]> {
  const types: RecordingType[] = ["video", "audio", "screen", "composition"];
  const names = ["u0", "u1", "ü'; DROP"];
  // The first in the list of types are rare, so that one filter has a short way and another a long one.
  const rows = Array.from(
    { length: count },
    (_, i): RecordingRow => ({
      ...COMPLETION,
      id: `id${i}`,
      app: "a",
      seq: i + 1,
      room: `r${(i * 7) % 3}`,
      participantSession: `p${i % 400}`,
      meetingSession: `m${i % 300}`,
      participantUsername: names[(i * i) % 3] as string,
      type: types[i % 50 === 0 ? 0 : 1 + (i % 3)] as RecordingType,
      startTime: (i * 37) % 41,
    }),
  );
  const { sql } = store as unknown as { sql: Bun.SQL };
  await sql.begin(async (tx) => {
    await tx`INSERT INTO recording_counters (app, last_seq, live) VALUES ('a', ${count}, ${count})`;
    for (const row of rows)
      await tx`
        INSERT INTO recordings (id, app, seq, room, participant_session, meeting_session, participant_username, type,
          start_time, end_time, file_name, format, size_in_bytes, completed)
        VALUES (${row.id}, ${row.app}, ${row.seq}, ${row.room}, ${row.participantSession}, ${row.meetingSession},
          ${row.participantUsername}, ${row.type}, ${row.startTime}, ${row.endTime}, ${row.fileName}, ${row.format},
          ${row.sizeInBytes}, ${row.completed})`;
  });
  return rows;
}

describe("pages stay stable", () => {
  test("while rows are added, completed out of their order, and deleted between them", async () => {
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
        (acts, order, limit, filtered) => walk(acts, order, limit, filtered ? { type: "video" } : {}),
      ),
      { numRuns: 40 },
    );
  });
});

type Act = { kind: "begin" } | { kind: "complete" | "delete"; which: number } | { kind: "page" };

/** A reader goes from page to page by the id of the last row, while others come and go. */
async function walk(acts: Act[], order: "asc" | "desc", limit: number, filter: RecordingFilter): Promise<void> {
  const { recordings: store } = await newStore();
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
    const behind = endId === undefined ? undefined : await store.seqOf("a", endId);
    if (endId !== undefined) expect(behind).toBeNumber();
    const rows = await store.page("a", { filter, order, limit, behind });
    seen.push(...ids(rows));
    endId = rows.at(-1)?.id ?? endId;
    expect(await store.totalOf("a", filter)).toBe(live.size);
    return rows.length === limit;
  };
  for (const one of acts) {
    if (one.kind === "begin") {
      const id = `u${count++}`;
      await store.addUpload(upload(id), 1e9);
      open.push(id);
    } else if (one.kind === "complete" && open.length > 0) {
      // Any of those that are open: not in the order in which they were begun.
      const [id = ""] = open.splice(one.which % open.length, 1);
      await store.complete(id, COMPLETION);
      live.add(id);
      completed.push(id);
    } else if (one.kind === "delete" && live.size > 0) {
      const id = [...live][one.which % live.size] as string;
      expect(await store.deleteRecordings("a", [id])).toEqual([id]);
      live.delete(id);
      if (!seen.includes(id)) deletedBeforeSeen.add(id);
    } else if (one.kind === "page") await page();
  }
  while (await page());
  // Nothing twice, in the order of completion, nothing that was gone; and all that were there from the first page on.
  expect(new Set(seen).size).toBe(seen.length);
  const inOrder = (order === "asc" ? completed : completed.toReversed()).filter((id) => seen.includes(id));
  expect(seen).toEqual(inOrder);
  for (const id of deletedBeforeSeen) expect(seen).not.toContain(id);
  // A reader of the oldest first is a poller: it misses none. One of the newest first has all that were there when it began.
  const must = order === "asc" ? completed : atFirst;
  for (const id of must) if (!deletedBeforeSeen.has(id)) expect(seen).toContain(id);
}
