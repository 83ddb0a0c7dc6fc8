/** A data folder after a life of all features: every file in it is in the inventory, and so is every name that the bucket's code gives. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUCKET_OBJECTS, DATA_FILES } from "../../src/durable/inventory/files.ts";
import { CHECK_NAME, MARK_NAME } from "../../src/recordings/storage/storage.ts";
import { Application } from "../support/application.ts";
import { NO_RUNTIME_FOLDER, parleyCommand } from "../support/command.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend, webm } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const PATTERNS = DATA_FILES.flatMap(({ paths }) => paths).map((path) => new Bun.Glob(path));

/** Every file and every empty folder, relative to the folder. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const unlisted = (files: readonly string[]): string[] =>
  files.filter((file) => !PATTERNS.some((glob) => glob.match(file)));

async function command(server: Server, ...args: readonly string[]): Promise<void> {
  const env = { PATH: process.env.PATH ?? "", XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER, PARLEY_DATA: server.data };
  const child = Bun.spawn(parleyCommand(...args), { env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const error = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(error);
}

/** Messages that are kept, a recording that is complete, one that is not, and credentials of commands. */
async function live(server: Server): Promise<void> {
  const { admin, url } = server;
  const app = await admin.createApp("shop");
  const rule = { pattern: "**", history: { messages: 5, seconds: 60 }, graceSec: 0 };
  await admin.must("PATCH", "/apps/shop", { channelRules: [rule] });
  const key = await admin.createKey("shop");
  await call(`${url}/v1/channels/c/publish`, { bearer: key.credential, body: { data: 1 } });
  const backend = new Backend(new Application(url, "shop", app.secretKey));
  const [done, open] = [await backend.begin(), await backend.begin()];
  await backend.mustPut(done.uploadUrl, webm(1000));
  await backend.complete(done._id);
  await backend.mustPut(open.uploadUrl, webm(1000), { "Content-Range": "bytes 0-999/*" });
  await command(server, "publish", "c", "hello", "--app", "shop");
  await command(server, "rooms", "list", "--app", "shop");
}

test("every file of a data folder is listed, while the service runs and after it was stopped", async () => {
  using folder = scratch();
  const started = { data: folder.path, env: { PARLEY_ADMIN_TOKEN: "" } };
  const server = await startParley({ ...started, flags: ["--workers", "2"] });
  await live(server);
  // The mark is written by the sweep of the worker that leads.
  await until("the storage is marked", () => filesIn(folder.path).includes(`recordings/${MARK_NAME}`));
  const running = filesIn(folder.path);
  expect(unlisted(running)).toEqual([]);
  const seen = (pattern: string): boolean => running.some((file) => new Bun.Glob(pattern).match(file));
  // Otherwise this would be no life of all features.
  expect(
    [
      "workers.json",
      "servers/*.json",
      "command-line/shop.key",
      "command-line/shop.secret",
      "recordings/uploads/*",
      "recordings/files/*/*/*",
      "history.sqlite-wal",
      "first-run.txt",
      "master.key",
    ].filter((pattern) => !seen(pattern)),
  ).toEqual([]);
  await command(server, "apps", "delete", "shop", "--yes");
  expect(filesIn(folder.path).filter((file) => file.startsWith("command-line/"))).toEqual([]);
  await server.stop();
  expect(unlisted(filesIn(folder.path))).toEqual([]);
  // A history that cannot be read is set aside by the next start.
  writeFileSync(join(folder.path, "history.sqlite"), "no database");
  await (await startParley(started)).stop();
  const after = filesIn(folder.path);
  expect(after.filter((file) => file.startsWith("history.sqlite.damaged-"))).toHaveLength(1);
  expect(unlisted(after)).toEqual([]);
});

test("a file that is not listed is noticed", () => {
  expect(unlisted(["parley.sqlite", "surprise.db", "recordings/other/x"])).toEqual([
    "surprise.db",
    "recordings/other/x",
  ]);
});

test("every name that the code of the bucket gives is listed", () => {
  const folder = join(import.meta.dir, "../../src/recordings/storage/s3");
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(folder, name), "utf8"));
  const constants: Readonly<Record<string, string>> = { MARK_NAME, CHECK_NAME };
  const named = sources.flatMap((text) => [
    ...[...text.matchAll(/\$\{this\.prefix\}([\w-]+)/g)].map(([, name = ""]) => name),
    ...[...text.matchAll(/this\.prefix \+ (\w+)/g)].map(([, name = ""]) => constants[name] ?? name),
  ]);
  const listed = BUCKET_OBJECTS.flatMap(({ paths }) => paths.map((path) => path.split("/")[0] ?? ""));
  expect([...new Set(named)].sort()).toEqual([...new Set(listed)].sort());
});
