/** What a restore does with webhooks: who was connected when the backup was made, and the numbers of messages. */
import { Database } from "bun:sqlite";
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { makeMasterKey } from "../../../access/keys/vault.ts";
import { openStore, sqliteFile } from "../../../store/open.ts";
import { parley, temporaryFolder } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ROWS = {
  tracked_nodes: "(node, beat) VALUES ('n', 1)",
  tracked_connections: "(id, node, app, peer_id, key_id, opened, is_said) VALUES ('c', 'n', 'a', 'p', 'k', 1, 1)",
  tracked_members: "(node, app, channel, peer_id, since, is_said) VALUES ('n', 'a', 'c', 'p', 1, 1)",
  said_members: "(app, channel, peer_id) VALUES ('a', 'c', 'p')",
  said_channels: "(app, channel) VALUES ('a', 'c')",
};

test("webhooks of a restored store know of no one who was connected, and give no number again", async () => {
  const data = join(folder, "data");
  await (await openStore(data)).close();
  makeMasterKey(data);
  {
    using db = new Database(sqliteFile(data), { readwrite: true });
    for (const [table, row] of Object.entries(ROWS)) db.run(`INSERT INTO ${table} ${row}`);
    db.run(`INSERT INTO webhook_states (webhook, app, last_seq, last_attempt, backlog, dropped, delivered, failed)
      VALUES ('w', 'a', 7, 8, 0, 0, 7, 0)`);
    // It has sent nothing yet, and does so before the backup is restored.
    db.run("PRAGMA foreign_keys = OFF");
    db.run(`INSERT INTO webhooks (id, app, kind, url, events, header_names, created)
      VALUES ('new', 'a', 'room', 'https://example.com', '[]', '[]', 1)`);
  }
  const backup = join(folder, "with-webhooks.backup");
  expect((await parley(["backup", backup, "--data", data])).exitCode).toBe(0);
  expect((await parley(["restore", backup, "--data", data, "--force"])).exitCode).toBe(0);
  using db = new Database(sqliteFile(data), { readonly: true });
  for (const table of Object.keys(ROWS)) expect([table, db.query(`SELECT * FROM ${table}`).all()]).toEqual([table, []]);
  expect(db.query("SELECT webhook, last_seq, last_attempt FROM webhook_states ORDER BY webhook").all()).toEqual([
    { webhook: "new", last_seq: 1_000_000_000, last_attempt: 0 },
    { webhook: "w", last_seq: 1_000_000_007, last_attempt: 8 },
  ]);
  // URLs of rooms that the backup does not know have the same ids when they are made again.
  expect(db.query("SELECT room_seq FROM webhook_lease").all()).toEqual([{ room_seq: 1_000_000_000 }]);
});
