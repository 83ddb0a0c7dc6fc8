import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "./jwt.ts";
import { SecretSearch } from "./leaks.ts";
import { scratch } from "./temp.ts";

const secret = `sk_secret_${"aB3-_9Zx".repeat(6)}`;
const planted = new SecretSearch();
planted.add("planted", secret);

test.each<[string, string]>([
  ["as plain text", secret],
  ["URL-encoded", encodeURIComponent(`sk_id_0:${secret}`)],
  ["in base64", Buffer.from(secret).toString("base64")],
  ["in base64 of id and secret", Buffer.from(`sk_id_0123456789:${secret}`).toString("base64")],
  ["in base64 of a JSON text", Buffer.from(JSON.stringify({ a: secret })).toString("base64url")],
  ["in hex", Buffer.from(secret).toString("hex")],
  ["truncated", secret.slice(0, 40)],
  ["without its beginning", secret.slice(25)],
])("the search finds a secret %s", (_name, text) => {
  expect(planted.in(`{"level":"debug","msg":"… ${text} …"}`)).not.toEqual([]);
});

test("the search finds a token by its signature, and the password inside it", () => {
  const password = `turn-${crypto.randomUUID()}`;
  const token = selfSigned("sk_id_0", secret, { metadata: { password } });
  const own = new SecretSearch();
  own.add("token", token);
  own.add("password", password);
  expect(own.in(`GET /v1?token=${token} 101`).join()).toContain("token");
  expect(own.in(`GET /v1?token=${token} 101`).join()).toContain("password");
});

test("the search finds a secret in a SQLite file, and in its WAL before a checkpoint", () => {
  using folder = scratch();
  const path = join(folder.path, "store.sqlite");
  const db = new Database(path);
  db.run("PRAGMA journal_mode = WAL");
  db.run("CREATE TABLE t (a TEXT)");
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.run("INSERT INTO t VALUES (?)", [secret]);
  expect(planted.in(readFileSync(`${path}-wal`))).not.toEqual([]);
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  expect(planted.in(readFileSync(path))).not.toEqual([]);
});
