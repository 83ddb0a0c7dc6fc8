/** Commands that open a store of an earlier version: they say that they upgrade it, and ask first. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { foundEmbedded } from "../../../store/found.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { openSqlite, sqliteFile } from "../../../store/open.ts";
import { fillAsVersion } from "../../../store/testing/older.ts";
import { newFolders } from "../../../store/testing/places.ts";
import { parley } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const newFolder = newFolders();

test("admin reset-token upgrades no store without being asked to, and then says so and keeps a copy", async () => {
  const data = newFolder();
  const sql = await openSqlite(sqliteFile(data));
  await fillAsVersion(sql, 16);
  await sql.close();
  const refused = await parley(["admin", "reset-token", "--data", data]);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain(
    `add --yes to upgrade the store from schema 16 to ${schemaVersion()}, on which earlier versions do not start`,
  );
  expect([foundEmbedded(data).schema, existsSync(join(data, "before-upgrade"))]).toEqual([16, false]);

  const done = await parley(["admin", "reset-token", "--data", data, "--yes"]);
  expect(done.exitCode).toBe(0);
  expect(done.stdout).toStartWith("parley_admin_");
  expect(done.stderr).toStartWith(
    `upgrading the store: schema 16 → ${schemaVersion()}\nthe store was upgraded to schema`,
  );
  expect(foundEmbedded(data).schema).toBe(schemaVersion());
  expect(existsSync(join(data, "before-upgrade", "parley-schema-16.sqlite"))).toBe(true);
});
