/**
 * A service is killed while it removes what a deleted application has left: after the restart nothing of it is left, and its neighbour has
 * everything. Killed at once, and with PARLEY_TEST_FULL at many other moments.
 */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { App } from "../support/admin.ts";
import { Application } from "../support/application.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend, webm } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(120_000);

const isFull = process.env.PARLEY_TEST_FULL !== undefined;
/** After the answer to the deletion. */
const KILLED_AFTER_MS = isFull ? [0, 1, 2, 5, 10, 20, 40, 80, 160] : [0];
const ROOMS = isFull ? 500 : 20;

/** Messages, rooms and a recording. */
async function fill({ admin, url }: Server, name: string): Promise<App> {
  const app = await admin.createApp(name);
  const rule = { pattern: "**", history: { messages: 50, seconds: 600 }, graceSec: 0 };
  await admin.must("PATCH", `/apps/${name}`, { channelRules: [rule] });
  const key = await admin.createKey(name);
  for (let i = 0; i < 5; i++)
    await call(`${url}/v1/channels/c${i}/publish`, { bearer: key.credential, body: { data: i } });
  const backend = new Backend(new Application(url, name, app.secretKey));
  for (let i = 0; i < ROOMS; i++) await backend.room(`room-${i}`);
  const begun = await backend.begin({ room: "room-1" });
  await backend.mustPut(begun.uploadUrl, webm(1000));
  await backend.complete(begun._id);
  return app;
}

const filesOf = (data: string, app: string): object[] =>
  readdirSync(join(data, "recordings/files"), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.parentPath.includes(app),
  );

/** Rows and files of an application in the folder of a stopped service. */
function left(data: string, app: string): Record<string, number> {
  using store = new Database(join(data, "parley.sqlite"));
  using history = new Database(join(data, "history.sqlite"));
  const count = (db: Database, table: string): number =>
    db.query<{ n: number }, [string]>(`SELECT COUNT(*) AS n FROM ${table} WHERE app = ?`).get(app)?.n ?? -1;
  return {
    rooms: count(store, "rooms"),
    recordings: count(store, "recordings"),
    streams: count(history, "streams"),
    files: filesOf(data, app).length,
  };
}

test.each(KILLED_AFTER_MS)("killed %d ms after the deletion was answered", async (afterMs) => {
  using folder = scratch();
  const start = (): Promise<Server> =>
    startParley({ data: folder.path, env: { PARLEY_LOG_LEVEL: "debug", PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  const server = await start();
  const [gone, stays] = [await fill(server, "gone"), await fill(server, "stays")];
  await server.admin.must("DELETE", "/apps/gone");
  // The moment is what this test varies.
  await Bun.sleep(afterMs);
  await server.kill();
  const restarted = await start();
  await restarted.logged(({ msg, app }) => msg === "rows of a deleted application were removed" && app === gone._id);
  await until("its files are removed", () => filesOf(folder.path, gone._id).length === 0);
  await restarted.kill("SIGTERM");
  expect(left(folder.path, gone._id)).toEqual({ rooms: 0, recordings: 0, streams: 0, files: 0 });
  expect(left(folder.path, stays._id)).toEqual({ rooms: ROOMS, recordings: 1, streams: 5, files: 1 });
});
