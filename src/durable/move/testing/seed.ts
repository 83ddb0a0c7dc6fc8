/** For tests: an embedded store with rows of every kind in every table, and a history in every state. */
import { Database } from "bun:sqlite";
import { randomBytes, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { appSecretIdentity, makeMasterKey, Vault } from "../../../access/keys/vault.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import type { HistoryStore, NewMessage } from "../../../history/contract/history.ts";
import { historyFile } from "../../../history/sqlite/file.ts";
import { SqliteHistory } from "../../../history/sqlite/history.ts";
import { created, NAME, producer, write } from "../../../history/testing/created-kit.ts";
import { batchOf, message, trimAll } from "../../../history/testing/kit.ts";
import { openMigrated, sqliteFile } from "../../../store/open.ts";
import { STORE_TABLES } from "../../inventory/inventory.ts";

/** The application whose secret the master key opens; the others are deleted. */
const APP = anAppId("zzz-live");
const OTHER_APP = anAppId("other");
const TEXTS = [
  "",
  " ",
  "plain",
  'it\'s "quoted" \\ and {braced}, NULL',
  "NULL",
  "ünïcödé ✓ 漢字",
  "😀 \u{10ffff}",
  "\ue000 \uffff",
  "line\nbreak\ttab\r",
  "x".repeat(5000),
];
const NUMBERS = ["0", "1", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808"];
/** Where a value is the key of another table. */
const REFERS: Readonly<Record<string, string>> = {
  app: "apps",
  key_id: "keys",
  meeting: "meetings",
  webhook: "webhooks",
};
/** Unique among some of the rows. */
const UNIQUE = /^(name|room|seq|part|period)$/;

const NO_NUL = { nul: false };

/** `rows` per table. */
export async function seedStore(data: string, rows: number, { nul } = NO_NUL): Promise<void> {
  await (await openMigrated(data, "")).close();
  const vault = new Vault(makeMasterKey(data));
  using db = new Database(sqliteFile(data), { readwrite: true });
  db.run("PRAGMA foreign_keys = ON");
  db.run("BEGIN");
  for (const { name, key, move } of STORE_TABLES) {
    if (move !== "rows" || name === "revisions") continue;
    for (let at = 0; at < rows; at++) addRow(db, name, key, at, nul);
    if (name !== "apps") continue;
    db.run("UPDATE apps SET deleted = 1");
    addRow(db, name, key, rows, nul);
    const sealed = vault.seal("secret", appSecretIdentity(APP));
    const last = "rowid = (SELECT MAX(rowid) FROM apps)";
    db.run(`UPDATE apps SET id = ?, deleted = NULL, secret_sealed = ? WHERE ${last}`, [APP, sealed]);
  }
  db.run("UPDATE revisions SET revision = 9007199254740993");
  db.run("INSERT INTO meta VALUES ('store_id', ?), ('first_run', 'done')", [randomUUID()]);
  db.run("COMMIT");
}

interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
}

function addRow(db: Database, table: string, key: readonly string[], at: number, nul: boolean): void {
  const columns = db.query<ColumnInfo, []>(`PRAGMA table_info(${table})`).all();
  const values = columns.map(({ name, type, notnull }, column): string | null => {
    const referred = REFERS[name];
    if (referred && referred !== table) return idIn(db, referred, at);
    const isKey = key.includes(name);
    if (notnull === 0 && !isKey && (at + column) % 3 === 0) return null;
    if (type !== "TEXT")
      return isKey || UNIQUE.test(name) ? String(at + 1) : (NUMBERS[(at + column) % NUMBERS.length] ?? "0");
    const text = TEXTS[(at * 7 + column) % TEXTS.length] ?? "";
    if (isKey || UNIQUE.test(name)) return `${text.slice(0, 40)}-${randomBytes(6).toString("hex")}`;
    return nul && (at + column) % 5 === 0 ? `a\0b${text}` : text;
  });
  db.query(`INSERT OR IGNORE INTO ${table} VALUES (${values.map(() => "?").join(", ")})`).run(...values);
}

/** Another one for each row: some tables have one row per application. */
const idIn = (db: Database, table: string, at: number): string | null =>
  db.query<{ id: string }, [number]>(`SELECT id FROM ${table} ORDER BY id LIMIT 1 OFFSET ?`).get(at)?.id ?? null;

const KEEP = { messages: 1000, seconds: 3600 };

const textMessage = (channel: string, at: number): Partial<NewMessage> => ({
  channel,
  keep: KEEP,
  from: at % 3 === 0 ? "" : `peer ${at}`,
  dataJson: JSON.stringify(TEXTS[at % TEXTS.length]),
  ...(at % 2 === 0 && { metadataJson: `{"n":${at},"t":"\\u0000"}` }),
  ...(at % 4 === 0 && { connection: at % 8 === 0 ? "" : `c${at}` }),
  ...(at % 3 === 0 && { id: `id ${at}`, idScope: `scope ${at % 2}` }),
});

/** Streams that are empty, trimmed, removed, begun anew, and gone; runs of one message and of many, and one that trimming has shortened. */
export async function fillHistory(history: HistoryStore, messages: number): Promise<void> {
  for (const channel of ["plain", "ünï/😀", "trimmed", "removed", "kept-ids"])
    for (let at = 0; at < messages; at += 1 + (at % 40)) {
      const count = Math.min(1 + (at % 40), messages - at);
      await history.append(batchOf(...Array.from({ length: count }, (_, one) => textMessage(channel, at + one))));
    }
  const app = batchOf({}).messages[0]?.spaceId ?? APP;
  await history.open(app, "empty", KEEP);
  await history.open(app, "trimmed", { messages: Math.ceil(messages / 3) + 1, seconds: 3600 });
  await trimAll(history);
  // Ids outlive it: the next stream of the channel refers to the first one.
  await history.remove(app, "kept-ids");
  await history.append(batchOf(textMessage("kept-ids", 1)));
  await history.remove(app, "kept-ids");
  await history.append(batchOf(textMessage("kept-ids", 2), textMessage("kept-ids", 6)));
  await history.open(app, "overfull", KEEP);
  await history.append(batchOf(...Array.from({ length: 5 }, (_, at) => textMessage("overfull", at))));
  await history.open(app, "overfull", { messages: 2, seconds: 60 });
  await fillCreated(history);
  // Its messages are still to be deleted.
  await history.remove(app, "removed");
  // The last ids of all were those of streams that are gone.
  await history.append(batchOf({ ...textMessage("other", 3), spaceId: OTHER_APP }));
  await history.removeSpace(OTHER_APP);
}

/** Streams of all kinds: closed, with times, forks of one that is there and of one that is gone, producers there and in a channel with history. */
async function fillCreated(history: HistoryStore): Promise<void> {
  const { created: store } = history;
  const limits = { streamBytes: 1e9, appBytes: 1e9, streams: 1000 };
  const later = Date.now() + 3_600_000;
  const ofText = { contentType: "text/plain; charset=utf-8", limits };
  await created(store, { channel: "runs/1", ttlSeconds: 3600, limits }, TEXTS);
  await created(store, { channel: "runs/closed", expiresAtMs: later, isClosed: true, ...ofText }, TEXTS);
  await created(store, { channel: "runs/empty", contentType: "application/octet-stream", limits });
  const fork = { source: "runs/1", at: "end", more: 0 } as const;
  await created(store, { channel: "runs/fork", contentType: undefined, fork, limits });
  await created(store, { channel: "runs/gone", limits }, TEXTS);
  const ofGone = { ...fork, source: "runs/gone", at: "start", more: 1 } as const;
  await created(store, { channel: "runs/of-gone", contentType: undefined, fork: ofGone, limits }, ["more"]);
  await store.delete({ ...NAME, channel: "runs/gone" });
  await created(store, { channel: "runs/ended", limits });
  await store.delete({ ...NAME, channel: "runs/ended" });
  const writing = (owner: string, seq: number) => ({ producer: producer(3, seq, { owner, id: "p ünï" }), limits });
  for (const owner of ["key", "peer 😀"])
    for (let seq = 0; seq < 3; seq++) await write(store, ["written"], { channel: "runs/fork", ...writing(owner, seq) });
  await write(store, ["last"], { channel: "runs/1", seq: "00012", closes: true, ...writing("key", 0) });
  // They outlive the removal of the history.
  const { spaceId } = message();
  for (const seq of [0, 1]) {
    await write(store, ["over HTTP"], { spaceId, channel: "http", keep: KEEP, ...writing("key", seq) });
    if (seq === 0) await history.remove(spaceId, "http");
  }
}

export const openHistory = (data: string): SqliteHistory =>
  new SqliteHistory({
    path: historyFile(data),
    sync: "process",
    setAside: (text) => {
      throw new Error(text);
    },
  });

/** A data folder with everything. */
export async function seed(data: string, rows: number, messages: number, options = NO_NUL): Promise<void> {
  await seedStore(data, rows, options);
  const history = openHistory(data);
  await fillHistory(history, messages);
  await history.close();
  writeFileSync(join(data, "note.txt"), "not part of the store");
}
