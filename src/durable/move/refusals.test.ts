/** What a move refuses, and what it asks before it replaces something. Only in full runs. */
import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { IS_FULL } from "../../../test/support/slack.ts";
import { openPostgresHistory } from "../../history/postgres/history.ts";
import { batchOf } from "../../history/testing/kit.ts";
import { optionsOf } from "../../store/engines/postgres.ts";
import { openStore, sqliteFile } from "../../store/open.ts";
import { dumpFolder } from "./testing/dump.ts";
import { failure, keyIn, places, reopened, run, stopping } from "./testing/moves.ts";
import { openHistory, seed, seedStore } from "./testing/seed.ts";

setDefaultTimeout(60_000);

const place = places(IS_FULL);

describe.if(IS_FULL)("the source", () => {
  test("comes back over its earlier state without a question", async () => {
    const data = place.folder();
    await seed(data, 5, 50);
    const url = await place.database();
    await run("to", data, url);
    const history = await openPostgresHistory({ url });
    await history.append(batchOf({ channel: "plain", dataJson: '"in PostgreSQL"' }));
    await history.close();
    const back = await run("from", data, url);
    expect(back.tables.history_messages).toMatchObject({ written: 1, removed: 0 });
    expect(await failure(openStore("", url))).toMatch(/^this store was moved to the store in /);
    await (await openStore(data)).close();
    await run("to", data, url);
    await (await openStore("", url)).close();
  });

  test("needs its master key", async () => {
    const data = place.folder();
    await seed(data, 3, 0);
    const url = await place.database();
    const key = keyIn(data);
    expect(await failure(run("to", data, url, { masterKey: Buffer.alloc(32).toString("base64") }))).toMatch(
      /^the master key in PARLEY_MASTER_KEY does not open the secrets of the store in /,
    );
    rmSync(join(data, "master.key"));
    expect(await failure(run("to", data, url))).toMatch(/^there is no master key, so .* put it at .*master\.key/);
    expect((await run("to", data, url, { masterKey: key })).masterKey).toBe("setting");
  });

  test("must exist, must not be newer, and must not be in use", async () => {
    const url = await place.database();
    expect(await failure(run("to", place.folder(), url))).toMatch(
      /^.* has no store; pass the data folder with --data$/,
    );
    expect(await failure(run("from", place.folder(), url))).toMatch(
      /^PostgreSQL at .* is empty: there is nothing to move$/,
    );
    const data = place.folder();
    await seedStore(data, 1);
    const store = await openStore(data);
    expect(await failure(run("to", data, url))).toMatch(/^another Parley process is using .*; stop it first$/);
    await store.close();
    const db = new Database(sqliteFile(data));
    db.run("INSERT INTO migrations VALUES (9999, 1)");
    db.close();
    expect(await failure(run("to", data, url))).toMatch(
      /was written by a newer Parley \(its schema is 9999, this version knows \d+\): use that version$/,
    );
  });
});

describe.if(IS_FULL)("the target", () => {
  test("that holds another store is replaced only on demand, and what is lost is named", async () => {
    const [data, other] = [place.folder(), place.folder()];
    await seed(data, 4, 20);
    await seed(other, 6, 30);
    const url = await place.database();
    await run("to", other, url);
    expect(await failure(run("to", data, url))).toMatch(
      /^it holds another store, with 1 application \(.*\), \d+ rooms?, \d+ recordings, \d+ stored messages$/,
    );
    await run("to", data, url, { replace: async () => undefined });
    const back = place.folder();
    await run("from", back, url, { masterKey: keyIn(data) });
    expect(dumpFolder(back)).toEqual(dumpFolder(data));
    // Also a folder with a store of its own.
    await reopened(url);
    expect(await failure(run("from", other, url, { masterKey: keyIn(data) }))).toMatch(/^it holds another store/);
  });

  test("that holds an incomplete copy of another store is replaced only on demand", async () => {
    const [data, other] = [place.folder(), place.folder()];
    await seed(data, 2, 10);
    await seed(other, 2, 10);
    const url = await place.database();
    await run("to", other, url, stopping(5)).catch(() => undefined);
    expect(await failure(run("to", data, url))).toMatch(/^it holds an incomplete copy of the store in /);
  });

  test("that holds a history without its store is replaced only on demand", async () => {
    const [data, target] = [place.folder(), place.folder()];
    await seed(data, 2, 10);
    const history = openHistory(target);
    await history.append(batchOf({ dataJson: '"alone"' }));
    await history.close();
    const url = await place.database();
    await run("to", data, url);
    const options = { masterKey: keyIn(data) };
    expect(await failure(run("from", target, url, options))).toBe(
      "it holds a history without its store, with 0 applications, 0 rooms, 0 recordings, 1 stored message",
    );
    await run("from", target, url, { ...options, replace: async () => undefined });
    expect(dumpFolder(target)).toEqual(dumpFolder(data));
  });

  test("whose connection is lost in the middle gets the rest by another run", async () => {
    const data = place.folder();
    await seed(data, 10, 500);
    const url = await place.database();
    await using admin = new SQL({ ...optionsOf(url), max: 1 });
    let isCut = false;
    const progress = (_: string, table: string): void => {
      if (isCut || table !== "history_messages") return;
      isCut = true;
      void admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley-move' AND datname = current_database()`.then();
    };
    expect(await failure(run("to", data, url, { watch: { progress } }))).toMatch(
      /^the connection to PostgreSQL at .* was lost .*: what was copied stays, and running the same command .* continues$/,
    );
    await run("to", data, url);
    const back = place.folder();
    await run("from", back, url, { masterKey: keyIn(data) });
    expect(dumpFolder(back)).toEqual(dumpFolder(data));
  });

  test("needs the right to create tables", async () => {
    const data = place.folder();
    await seedStore(data, 1);
    const url = await place.bareDatabase();
    await using sql = new SQL({ ...optionsOf(url), max: 1 });
    await sql`CREATE ROLE weak LOGIN PASSWORD 'weak'`;
    await sql`REVOKE CREATE ON SCHEMA public FROM PUBLIC`;
    const weak = new URL(url);
    [weak.username, weak.password] = ["weak", "weak"];
    expect(await failure(run("to", data, weak.href))).toMatch(
      /^PostgreSQL at .* refuses it \(permission denied for schema public\): the user needs the rights to create and change tables/,
    );
  });

  test("must be one that can be written", async () => {
    const data = place.folder();
    await seedStore(data, 1);
    const url = await place.database();
    await using sql = new SQL({ ...optionsOf(url), max: 1 });
    await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`);
    expect(await failure(run("to", data, url))).toMatch(/^PostgreSQL at .* is read-only: use the primary$/);
    expect(await failure(run("to", data, `${url}_missing`))).toMatch(
      /^PostgreSQL at .*_missing refuses the connection: .* does not exist/,
    );
    const wrong = new URL(url);
    wrong.password = "wrong";
    expect(await failure(run("to", data, wrong.href))).toMatch(/^PostgreSQL at .* refuses the login: /);
    wrong.port = "1";
    expect(await failure(run("to", data, wrong.href))).toMatch(/^PostgreSQL at .* cannot be reached /);
  });
});
