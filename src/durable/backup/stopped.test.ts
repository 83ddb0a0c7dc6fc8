import { expect, test } from "bun:test";
import { INCOMPLETE_NOTE, MOVED_NOTE } from "../../store/moves.ts";
import { openStore, sqliteFile } from "../../store/open.ts";
import { newFolders } from "../../store/testing/places.ts";
import { holdStopped } from "./stopped.ts";

const newFolder = newFolders();

async function storeWith(notes: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = newFolder();
  const store = await openStore(folder);
  for (const [name, note] of Object.entries(notes))
    await store.change((change) => change.putMeta(name, JSON.stringify(note)));
  await store.close();
  return folder;
}

const hold = (folder: string) => holdStopped([sqliteFile(folder)], () => 7)();

test("a stopped store is held until it is released", async () => {
  const folder = await storeWith({});
  const held = await hold(folder);
  expect([held.atMs, held.files.map(({ name }) => name)]).toEqual([7, ["parley.sqlite"]]);
  await expect(hold(folder)).rejects.toThrow("another Parley process is using");
  expect(await held.release()).toBeTrue();
  await (await hold(folder)).release();
});

test.each([
  ["was moved away", { [MOVED_NOTE]: { to: "PostgreSQL at db", atMs: 0 } }, "was moved to PostgreSQL at db"],
  [
    "is an incomplete copy",
    { [INCOMPLETE_NOTE]: { source: "id", from: "PostgreSQL at db", command: "parley move …" } },
    'is an incomplete copy of PostgreSQL at db: finish it with "parley move …"',
  ],
])("there is no backup of a store that %s: no server would start on it", async (_, notes, why) => {
  const folder = await storeWith(notes);
  await expect(hold(folder)).rejects.toThrow(`cannot back up the store in ${folder}: this store ${why}`);
  // Nothing stays locked.
  await expect(hold(folder)).rejects.toThrow("cannot back up");
});
