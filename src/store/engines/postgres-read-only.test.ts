/** A PostgreSQL that takes no changes for a while: it was made read-only, its disk is full, or a standby answers instead of it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { retried, until } from "../../../test/support/wait.ts";
import { type Store, StoreReadOnly, StoreUnreachable } from "../contract/store.ts";
import { openStore } from "../open.ts";
import { PostgresServer } from "../testing/postgres.ts";
import { isStoreFull } from "./rows.ts";

setDefaultTimeout(60_000);

let server: PostgresServer;
let url: string;
let store: Store;
beforeAll(async () => {
  server = await PostgresServer.start({ isReplicated: true });
  url = await server.newDatabase();
  store = await openStore("", url);
});
afterAll(async () => {
  await store.close();
  await server.stop();
});

const putMeta = (value: string): Promise<void> => store.change((change) => change.putMeta("name", value));

/** The error of a call that must fail. */
const failureOf = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

const isReadOnly = async (): Promise<boolean> =>
  (await store.revisions().catch((error: unknown) => error)) instanceof StoreReadOnly;

/** Retries until the store takes changes again. */
const eventually = (change: () => Promise<void>): Promise<void> =>
  retried("the store takes changes again", change, (error) => error instanceof StoreUnreachable);

test("made read-only: changes and revisions say so, reads go on, and it recovers by itself", async () => {
  await putMeta("before");
  const { server: name } = await store.revisions();
  await server.set("default_transaction_read_only", "on");
  // Connections read the setting between two statements.
  await until("the store says that it is read-only", isReadOnly);
  expect(await failureOf(putMeta("refused"))).toBeInstanceOf(StoreReadOnly);
  expect(await store.meta("name")).toBe("before");
  await server.set("default_transaction_read_only", "off");
  await eventually(() => putMeta("after"));
  expect([await store.meta("name"), (await store.revisions()).server]).toEqual(["after", name]);
});

test("a full disk: a change is to be tried later, and says why", async () => {
  await using sql = new SQL({ url, max: 1 });
  await sql.unsafe(`CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`);
  await sql.unsafe("CREATE TRIGGER no_space BEFORE UPDATE ON revisions EXECUTE FUNCTION no_space()");
  const error = await failureOf(putMeta("refused"));
  expect([error instanceof StoreUnreachable, isStoreFull(error)]).toEqual([true, true]);
  await sql.unsafe("DROP TRIGGER no_space ON revisions");
  await putMeta("after");
});

test("a standby is not read, and left when the address leads to a primary again", async () => {
  const before = (await store.revisions()).server;
  await server.end();
  server.demote();
  await server.begin();
  await until("the store says that it is read-only", isReadOnly);
  // It may be behind.
  expect(await failureOf(store.meta("name"))).toBeInstanceOf(StoreReadOnly);
  await server.promote();
  // The open connections lead to a server that takes changes now.
  await eventually(async () => void (await store.revisions()));
  await putMeta("promoted");
  expect((await store.revisions()).server).not.toBe(before);
});
