/** The data folder, and the files of SQLite in it, which only their owner may read. */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../contract/store.ts";

/** Makes the file and its folder where they are missing. */
export function prepareFile(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Created before SQLite does it, so that only the owner can ever read it.
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    throw new StoreError(
      `the data folder ${folder} cannot be written: ${whyNot(folder, error as NodeJS.ErrnoException)}`,
    );
  }
}

/** The system's text for a name in use would be "file exists", which is what is asked for. */
function whyNot(folder: string, { code, message }: NodeJS.ErrnoException): string {
  if (code !== "EEXIST" && code !== "ENOTDIR") return message;
  if (isLinkToNothing(folder))
    return "it is a link to a folder that does not exist; create that folder, or choose another one with --data";
  return "a file with this name, or the name of a parent folder, already exists; choose another folder with --data";
}

function isLinkToNothing(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink() && !existsSync(path);
  } catch {
    return false;
  }
}
