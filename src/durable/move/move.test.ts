/** Moves between an embedded store and a real PostgreSQL. */
import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { isInSample } from "../../../test/support/sample.ts";
import { IS_FULL } from "../../../test/support/slack.ts";
import { openPostgresHistory } from "../../history/postgres/history.ts";
import { historyFile } from "../../history/sqlite/file.ts";
import { created, NAME, producer, SPACE, textsIn, write } from "../../history/testing/created-kit.ts";
import { batchOf, KEEP, message } from "../../history/testing/kit.ts";
import { optionsOf } from "../../store/engines/postgres.ts";
import { openMigrated, openSqlite, openStore, sqliteFile } from "../../store/open.ts";
import { fillAsVersion } from "../../store/testing/older.ts";
import { EmbeddedSide } from "./embedded-side.ts";
import { MoveInterrupted, move, reopen } from "./move.ts";
import { PostgresSide } from "./postgres-side.ts";
import { dumpDatabase, dumpFolder } from "./testing/dump.ts";
import { failure, keyIn, places, reopened, run, stopping } from "./testing/moves.ts";
import { fillHistory, openHistory, seed, seedStore } from "./testing/seed.ts";

setDefaultTimeout(60_000);

/** Per table: with this many, every kind of value is in every column. */
const ROWS = IS_FULL ? 60 : 12;

const place = places();

async function countOf(url: string, statement: string): Promise<number> {
  await using sql = new SQL({ ...optionsOf(url), max: 1 });
  const rows: { count: string }[] = await sql.unsafe(`SELECT COUNT(*) AS count FROM ${statement}`);
  return Number(rows[0]?.count);
}

/** Streams whose columns for trimming do not fit their messages. */
const wrongStreams = (url: string): Promise<number> =>
  countOf(
    url,
    `history_streams s WHERE is_overfull <> (top - low + 1 > keep_messages)
      OR low_time <> coalesce((SELECT m.time FROM history_messages m WHERE m.stream = s.id AND m.off = s.low), 0)`,
  );

/** The streams called "later" whose id another row had before. */
const sharedIds = (url: string): Promise<number> =>
  countOf(url, `history_streams s WHERE channel = 'later' AND id <= (SELECT MAX(stream) FROM history_gone)`);

describe("everything", () => {
  test("is the same after a move there and back, and positions and ids are recognised in between", async () => {
    const data = place.folder();
    await seed(data, ROWS, 120);
    const before = dumpFolder(data);
    const url = await place.englishDatabase();
    const there = await run("to", data, url);
    expect(there.changedTexts).toBe(0);
    for (const [name, rows] of Object.entries(before))
      if (there.tables[name]) expect([name, there.tables[name]?.rows]).toEqual([name, rows.length]);

    const history = await openPostgresHistory({ url });
    const spaceId = message().spaceId;
    const repeated = await history.append(batchOf({ channel: "plain", id: "id 3", idScope: "scope 1" }));
    expect(repeated[0]).toMatchObject({ isDuplicate: true, offset: 4 });
    const page = await history.read(spaceId, "plain", { after: 0, limit: 1000, maxBytes: 1e9 });
    expect(page?.messages.length).toBe(120);
    const repeat = { channel: "runs/fork", producer: producer(3, 2, { owner: "key", id: "p ünï" }) };
    expect(await write(history.created, ["written"], repeat)).toMatchObject({ outcome: "duplicate", producerSeq: 2 });
    const streams = await history.created.list(SPACE, { limit: 100 });
    expect(streams.map(({ channel, isClosed }) => [channel, isClosed])).toEqual([
      ["runs/1", true],
      ["runs/closed", true],
      ["runs/empty", false],
      ["runs/fork", false],
      ["runs/of-gone", false],
    ]);
    expect(await history.created.describe({ ...NAME, channel: "runs/gone" })).toBe("gone");
    await history.close();
    const inPostgres = await dumpDatabase(url);
    expect(await wrongStreams(url)).toBe(0);

    const back = place.folder();
    await run("from", back, url, { masterKey: keyIn(data) });
    expect(dumpFolder(back)).toEqual(before);
    // And once more to another database, which is equal to the first.
    const second = await place.database();
    await run("to", back, second, { masterKey: keyIn(data) });
    expect(await dumpDatabase(second)).toEqual(inPostgres);
    // New streams get ids that no row has.
    const later = await openPostgresHistory({ url: second });
    await later.append(batchOf({ channel: "later", id: "id", idScope: "scope" }));
    await later.close();
    expect(await sharedIds(second)).toBe(0);
  });

  test("but a fork that is not complete: its messages are deleted, its name is free, and the bytes that are held are the others'", async () => {
    const data = place.folder();
    await seedStore(data, 1);
    const embedded = openHistory(data);
    await created(embedded.created, {}, ["a", "b"]);
    await created(embedded.created, { channel: "copying" }, ["c"]);
    const { bytes } = await embedded.usage(SPACE);
    await embedded.close();
    const db = new Database(historyFile(data));
    db.run("UPDATE created SET state = 'copying' WHERE stream = (SELECT id FROM streams WHERE channel = 'copying')");
    db.close();
    const url = await place.database();
    await run("to", data, url);
    expect(await countOf(url, "history_gone")).toBe(1);
    expect(await countOf(url, `history_held WHERE streams = 1 AND bytes = ${(bytes * 2) / 3}`)).toBe(1);
    const history = await openPostgresHistory({ url });
    expect(await textsIn(history.created, "channel")).toEqual(["a", "b"]);
    await created(history.created, { channel: "copying" }, ["new"]);
    expect(await textsIn(history.created, "copying")).toEqual(["new"]);
    await write(history.created, ["c"]);
    await history.created.applyRules(SPACE, () => false);
    await history.close();
    expect(await countOf(url, "history_held")).toBe(0);
  });

  test("also comes from a PostgreSQL that nodes have written", async () => {
    const url = await place.database();
    const data = place.folder();
    await seedStore(data, 3);
    await run("to", data, url);
    await reopened(url);
    const history = await openPostgresHistory({ url, totalsEveryMs: 0 });
    await fillHistory(history, 300);
    await history.close();
    // As a node that was killed between the two steps of trimming has left it.
    await using sql = new SQL({ ...optionsOf(url), max: 1 });
    await sql`UPDATE history_streams SET low = low + 3, low_check = 'later' WHERE channel = 'plain'`;
    const [want = { messages: "", streams: "" }]: { messages: string; streams: string }[] = await sql`
      SELECT (SELECT COUNT(*) FROM history_messages m WHERE m.off >= coalesce((SELECT low FROM history_streams s WHERE s.id = m.stream), 0)) AS messages,
        (SELECT COUNT(*) FROM history_streams) AS streams`;
    const back = place.folder();
    const moved = await run("from", back, url, { masterKey: keyIn(data) });
    expect([moved.tables.history_messages?.rows, moved.tables.history_streams?.rows]).toEqual([
      Number(want.messages),
      Number(want.streams),
    ]);
    const embedded = openHistory(back);
    const page = await embedded.read(message().spaceId, "plain", { after: 3, limit: 1000, maxBytes: 1e9 });
    expect([page?.check, page?.messages.length, page?.messages[0]?.offset]).toEqual(["later", 297, 4]);
    // New streams get ids that no row has.
    await embedded.open(message().spaceId, "new", KEEP);
    await embedded.close();
    using db = new Database(historyFile(back), { readonly: true });
    const used = db
      .query<{ id: number }, []>(
        "SELECT MAX(stream) AS id FROM (SELECT stream FROM runs UNION SELECT stream FROM gone UNION SELECT stream FROM ids)",
      )
      .get();
    expect(db.query<{ id: number }, []>("SELECT id FROM streams WHERE channel = 'new'").get()?.id).toBeGreaterThan(
      used?.id ?? 0,
    );
  });

  test.if(IS_FULL)("is moved from an older schema, which is upgraded first", async () => {
    const data = place.folder();
    const sql = await openSqlite(sqliteFile(data));
    await fillAsVersion(sql, 8);
    await sql`UPDATE apps SET deleted = 1`;
    await sql.close();
    const says: string[] = [];
    const url = await place.bareDatabase();
    const moved = await run("to", data, url, { watch: { says: (text) => void says.push(text) } });
    expect(says).toEqual([expect.stringMatching(/^upgrading the store in .*: schema 8 → \d+$/) as string]);
    expect([moved.tables.apps?.rows, moved.masterKey]).toEqual([1, "none needed"]);
  });

  test.if(IS_FULL)("has U+FFFD where a text has U+0000, which PostgreSQL refuses", async () => {
    const data = place.folder();
    await seedStore(data, 10, { nul: true });
    const url = await place.database();
    expect((await run("to", data, url)).changedTexts).toBeGreaterThan(10);
    await using sql = new SQL({ ...optionsOf(url), max: 1 });
    const [row]: { count: string }[] = await sql`SELECT COUNT(*) AS count FROM rooms WHERE fields LIKE ${"a\uFFFDb%"}`;
    expect(Number(row?.count)).toBeGreaterThan(0);
  });
});

describe("a move that was interrupted", () => {
  test.each(IS_FULL ? (["to", "from"] as const) : (["from"] as const))(
    "%s PostgreSQL continues, and neither store starts in the middle of it",
    async (way) => {
      const first = place.folder();
      await seed(first, 10, 100);
      const before = dumpFolder(first);
      const url = await place.database();
      if (way === "from") await run("to", first, url);
      const data = way === "to" ? first : place.folder();
      const options = { masterKey: keyIn(first) };
      const error = await run(way, data, url, { ...options, ...stopping(300) }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MoveInterrupted);
      const opening = way === "to" ? openStore("", url) : openStore(data);
      expect(await failure(opening)).toMatch(
        /^this store is an incomplete copy of .*: finish it with "parley move --(to|from) …"$/,
      );
      if (way === "from") {
        // Also without its store: the two files may be parted.
        expect(() => openHistory(data)).toThrow(/is an incomplete copy of another history/);
      }
      const resumed = await run(way, data, url, options);
      const written = Object.values(resumed.tables).reduce((sum, one) => sum + one.written, 0);
      const rows = Object.values(resumed.tables).reduce((sum, one) => sum + one.rows, 0);
      expect(written).toBeLessThan(rows);
      const back = way === "to" ? place.folder() : data;
      if (way === "to") {
        await (await openStore("", url)).close();
        await run("from", back, url, options);
      }
      expect(dumpFolder(back)).toEqual(before);
      await (await openStore(back)).close();
    },
  );

  test.if(IS_FULL)("copies what the source has now, although it went on since", async () => {
    const data = place.folder();
    await seed(data, 10, 100);
    const url = await place.database();
    await run("to", data, url, stopping(400)).catch(() => undefined);
    {
      using db = new Database(sqliteFile(data));
      // The name of a room, and its place in the order of keys: a unique index is in the way until the old row is gone.
      db.run(
        "UPDATE rooms SET archived = NULL, name = 'same', app = (SELECT id FROM apps LIMIT 1) WHERE id = (SELECT MAX(id) FROM rooms)",
      );
      db.run("DELETE FROM stays WHERE id = (SELECT MIN(id) FROM stays)");
    }
    await run("to", data, url, stopping(400)).catch(() => undefined);
    {
      using db = new Database(sqliteFile(data));
      db.run("UPDATE rooms SET archived = 1 WHERE name = 'same'");
      db.run(
        "UPDATE rooms SET archived = NULL, name = 'same', app = (SELECT id FROM apps LIMIT 1) WHERE id = (SELECT MIN(id) FROM rooms)",
      );
    }
    const history = openHistory(data);
    await history.append(batchOf({ channel: "plain", dataJson: '"later"' }));
    await history.remove(message().spaceId, "trimmed");
    await history.close();
    const before = dumpFolder(data);
    await run("to", data, url);
    const back = place.folder();
    await run("from", back, url, { masterKey: keyIn(data) });
    expect(dumpFolder(back)).toEqual(before);
  });
});

describe("a store", () => {
  test.each(
    [
      ["is missing", "DELETE FROM rooms WHERE id = (SELECT MIN(id) FROM rooms)"],
      ["differs", "UPDATE stays SET why = 'other' WHERE id = (SELECT MAX(id) FROM stays)"],
      ["is too much", "INSERT INTO usage (app, period, messages, peak_connections) VALUES ('new', 1, 1, 1)"],
      [
        "differs in its message",
        "UPDATE history_messages SET data = '1' WHERE (stream, off) = (SELECT stream, MAX(off) FROM history_messages GROUP BY stream LIMIT 1)",
      ],
      ["is the last id", "SELECT setval(pg_get_serial_sequence('history_streams', 'id'), 1)"],
    ].filter((_, at) => isInSample(at, 5)),
  )("of which a row %s is not taken for a copy", async (_, change) => {
    const data = place.folder();
    await seed(data, 4, 20);
    const url = await place.database();
    const [source, target] = [await EmbeddedSide.open(data, "source"), await PostgresSide.open(url)];
    const settle = target.settle.bind(target);
    // After it was copied, before it is compared.
    target.settle = async () => {
      await settle();
      await target.store.value(change);
    };
    const replace = async (): Promise<void> => undefined;
    const moved = move({ source, target, data, masterKey: "", command: "", replace });
    expect(await failure(moved)).toMatch(
      /^the copy differs from the store in .*: (rooms|stays|usage|history_messages|the last id of a stream)/,
    );
    await Promise.all([source.close(), target.close()]);
    expect(await failure(openStore("", url))).toMatch(/^this store is an incomplete copy/);
    await (await openStore(data)).close();
  });

  test("that was moved does not start any more, is not moved twice by accident, and can be reopened", async () => {
    const data = place.folder();
    await seed(data, 3, 10);
    const before = dumpFolder(data);
    const url = await place.database();
    await run("to", data, url);
    expect(dumpFolder(data)).toEqual(before);
    const moved =
      /^this store was moved to PostgreSQL at 127\.0\.0\.1:\d+\/test_\d+ \(.*\); .*, or run "parley move --reopen" to use this one as it was$/;
    expect(await failure(openStore(data))).toMatch(moved);
    expect(await failure(run("to", data, url))).toMatch(moved);
    expect(await failure(run("to", data, await place.database()))).toMatch(moved);
    const side = await EmbeddedSide.open(data, "source");
    expect(await reopen(side)).toStartWith("PostgreSQL at");
    expect(await reopen(side)).toBeUndefined();
    await side.close();
    await (await openStore(data)).close();
    // Both can be used now, and what the database holds may be newer.
    expect(await failure(run("to", data, url))).toMatch(/^it holds the same store, with 1 application/);
    await run("to", data, url, { replace: async () => undefined });
  });

  test("that is to be filled must not have nodes, and nodes do not start on it meanwhile", async () => {
    const data = place.folder();
    await seedStore(data, 1);
    const url = await place.database();
    const node = await openMigrated("", url);
    await node.run((sql) => sql`INSERT INTO meeting_nodes VALUES ('node-7', ${Date.now()})`);
    expect(await failure(run("to", data, url))).toMatch(
      /^Parley is running on PostgreSQL at .*, with connections from 127\.0\.0\.1 \(connections: \d+\); alive in the last 20 s: node-7: stop every node/,
    );
    await node.run((sql) => sql`DELETE FROM meeting_nodes`);
    await node.close();
    const side = await PostgresSide.open(url);
    expect(await failure(openStore("", url))).toBe(
      '"parley move" is working on this database: start when it has ended',
    );
    await side.close();
    await (await openStore("", url)).close();
  });
});
