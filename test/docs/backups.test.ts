/** docs/backups.md: a backup by hand, its trial beside the service, and the settings of a schedule. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { freePort } from "../../src/testing/ports.ts";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { block } from "./support/page.ts";
import { paste, stay } from "./support/shell.ts";

setDefaultTimeout(60_000);

const PAGE = "docs/backups.md";
const folder = scratch();
afterAll(() => folder[Symbol.dispose]());
let server: Server;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_ADMIN_TOKEN: "" } });
});
afterAll(() => server.stop());

test("a backup is made by hand while the service runs, and read in full", async () => {
  const script = block(PAGE, "sh", "By hand").replaceAll("/tmp/", `${folder.path}/`);
  const outcomes = await paste(script, { PARLEY_DATA: server.data });
  expect(outcomes.map(({ code, out, err }) => [code, code === 0 ? out : err])).toEqual([
    [0, expect.stringContaining(`${folder.path}/parley.backup`)],
    [0, expect.stringContaining("messages")],
  ]);
});

test("a restore is tried beside the service, which goes on", async () => {
  const port = await freePort();
  const key = readFileSync(join(server.data, "master.key"), "utf8").trim();
  const script = block(PAGE, "", "Try a restore")
    .replaceAll("…", key)
    .replace("parley.backup", join(folder.path, "parley.backup"))
    .replaceAll("/tmp/restored", join(folder.path, "tried"))
    .replace("8090", String(port))
    // The variable before the program is set with env: the last command replaces the shell.
    .replaceAll(/^PARLEY_MASTER_KEY/gm, "env PARLEY_MASTER_KEY");
  await using restored = stay(script, { PARLEY_LOG_FORMAT: "json" });
  await restored.writes(/parley is ready/);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
});

test("the settings of a schedule are accepted", () => {
  const lines = block(PAGE, "", "On a schedule").replace("…", randomBytes(32).toString("base64")).trim().split("\n");
  const env = Object.fromEntries(lines.map((line) => /^(\w+)=(.+)$/.exec(line)?.slice(1) ?? []));
  const { config, warnings } = loadConfig(new Map(), env);
  expect([config.backupTo, config.backupEvery, config.backupKeep, warnings]).toEqual(["/backups/", 86_400, 14, []]);
});
