/** What revoking and deleting leave of secrets. */
import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { sqlitePlaces } from "../../store/testing/places.ts";
import { databaseOf } from "../../store/testing/recordings.ts";
import { Directory } from "./directory.ts";
import { Keyring } from "./keyring.ts";
import { Vault } from "./vault.ts";

const newPlace = sqlitePlaces();

test("no secret of a revoked key or a deleted application stays in the store, and revoked keys are listed", async () => {
  const store = await (await newPlace())();
  const vault = new Vault(randomBytes(32));
  const directory = new Directory(store, new Keyring(vault), vault, Date.now);
  const { app } = await directory.createApp("shop");
  await directory.rotateAppSecret("shop", { graceSeconds: 60, retirePrevious: false });
  const wanted = { app: "shop", type: "secret", channelPatterns: ["**"], actions: ["publish"] } as const;
  const newKey = async (): Promise<string> =>
    (await directory.createKey({ ...wanted, allowedOrigins: null, turn: false, label: null })).key.id;
  const [revoked, live] = [await newKey(), await newKey()];
  for (const id of [revoked, live]) await directory.rotateKey(id, { graceSeconds: 60, retirePrevious: false });
  const secretsOf = async (): Promise<number[]> =>
    Promise.all([revoked, live].map(async (id) => (await store.secrets(id)).length));
  expect(await secretsOf()).toEqual([2, 2]);
  await directory.revokeKey(revoked);
  expect(await secretsOf()).toEqual([0, 2]);
  expect((await directory.keysPage(10, "shop")).map(({ id }) => id).sort()).toEqual([revoked, live].sort());
  await directory.deleteApp("shop");
  expect(await secretsOf()).toEqual([0, 0]);
  const rows: object[] = await databaseOf(store).run(
    (sql) => sql`SELECT secret_sealed, secret_digest, previous_secrets FROM apps WHERE id = ${app.id}`,
  );
  expect(rows).toEqual([{ secret_sealed: "", secret_digest: "", previous_secrets: "[]" }]);
  await store.close();
});
