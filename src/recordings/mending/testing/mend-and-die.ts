/**
 * For tests: a service with one finished upload, which lists it, and which is killed before or after the call with the given number to its store,
 * storage or mender. Prints what it finds at its start and at its end.
 *   bun mend-and-die.ts DATA CALL     CALL: 0 for no death
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anAppId } from "../../../base/testing/ids.ts";
import { openStore } from "../../../store/open.ts";
import { appRow } from "../../../store/testing/rows.ts";
import { type Kit, makeKit } from "../../testing/kit.ts";
import type { Mender } from "../mender.ts";
import { finishedUpload, makeMending } from "./mending-kit.ts";

const [data = "", wanted = "0"] = process.argv.slice(2);
const dieAt = Number(wanted);
const idFile = join(data, "upload");
let calls = 0;

const step = (): void => {
  if (++calls === dieAt) process.kill(process.pid, "SIGKILL");
};

function mortal<T extends object>(target: T): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        step();
        const result: unknown = value.apply(target, args);
        if (!(result instanceof Promise)) return result;
        return result.then((done: unknown) => {
          step();
          return done;
        });
      };
    },
  });
}

const mender: Mender = {
  mend: async (_input, output) => {
    writeFileSync(output, "mended");
    return { outcome: "mended", durationMs: 2600, size: 6 };
  },
  stop: async () => undefined,
};

const state = async (kit: Kit, id: string): Promise<object> => {
  const row = await kit.store.recordings.recording(kit.app, id);
  const path = row && kit.storage.path({ app: row.app, id: row.file ?? row.id, locator: "" });
  const bytes = path !== undefined && existsSync(path) ? readFileSync(path, "utf8") : undefined;
  const files = ["recordings", "mending"]
    .map((name) => join(data, name))
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== "parley-storage.json");
  return { isListed: row !== undefined, isMended: row?.mended ?? null, bytes, files: files.length };
};

const store = await openStore(data);
const app = anAppId("a".repeat(24));
const isFirst = !existsSync(idFile);
if (isFirst) await store.change((change) => change.putApp(appRow(app, { name: "app" })));
const kit = await makeKit({ folder: join(data, "recordings"), store, app });
if (isFirst) writeFileSync(idFile, await finishedUpload(kit, new Uint8Array(Buffer.from("OggS\0recorded"))));
const id = readFileSync(idFile, "utf8");
const before = await state(kit, id);
const { queue } = makeMending(kit, mortal(mender), {
  store: mortal(kit.store.recordings),
  storage: mortal(kit.storage),
});
queue.start();
await queue.idle();
await queue.stop();
await kit.sweep();
console.log(JSON.stringify({ before, after: await state(kit, id), calls }));
process.exit(0);
