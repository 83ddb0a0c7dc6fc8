/** Lists the folder of recordings. Files with other names than Parley gives are skipped, so that they are never swept. */
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { asAppId } from "../../../base/ids.ts";
import { isObjectId, type Quarantined, type StoredEntry } from "../storage.ts";
import { isAbsent } from "./files.ts";

/** The path of an upload's bytes does not name the application, so this id stands for it. */
const UNKNOWN_APP = asAppId("0".repeat(24));
const DAY_MS = 24 * 3_600_000;

export async function* contentsOf(uploads: string, files: string): AsyncGenerator<StoredEntry> {
  for await (const name of namesIn(uploads)) {
    const [, id = "", locator = ""] = /^([0-9a-f]{24})(?:\.(g\d{1,16}))?$/.exec(name) ?? [];
    if (id === "") continue;
    const modifiedMs = await fileTime(join(uploads, name));
    if (modifiedMs !== undefined) yield { place: { app: UNKNOWN_APP, id, locator }, isOpen: true, modifiedMs };
  }
  for await (const app of namesIn(files)) {
    if (!isObjectId(app)) continue;
    for await (const shard of namesIn(join(files, app)))
      for await (const id of namesIn(join(files, app, shard))) {
        const isOurs = isObjectId(id) && id.endsWith(shard);
        const modifiedMs = isOurs ? await fileTime(join(files, app, shard, id)) : undefined;
        if (modifiedMs !== undefined)
          yield { place: { app: asAppId(app), id, locator: "" }, isOpen: false, modifiedMs };
      }
  }
}

/** The locator of a place is its day. `sinceMs` is the end of that day, so that nothing is removed too early. */
export async function* quarantinedIn(folder: string): AsyncGenerator<Quarantined> {
  for await (const day of namesIn(folder)) {
    const begin = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN;
    if (Number.isNaN(begin)) continue;
    for await (const app of namesIn(join(folder, day)))
      for await (const id of namesIn(join(folder, day, app)))
        if (isObjectId(app) && isObjectId(id))
          yield { place: { app: asAppId(app), id, locator: day }, sinceMs: begin + DAY_MS };
  }
}

/** Yields nothing if the path is not a folder, or was removed meanwhile. */
async function* namesIn(folder: string): AsyncGenerator<string> {
  try {
    for await (const { name } of await opendir(folder)) yield name;
  } catch (error) {
    const isNoFolder = error instanceof Error && "code" in error && error.code === "ENOTDIR";
    if (!isAbsent(error) && !isNoFolder) throw error;
  }
}

async function fileTime(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.mtimeMs : undefined;
}
