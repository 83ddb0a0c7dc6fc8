/**
 * The folder of the sockets of a running service, and the note in the data folder that says where it is. The sockets are not in the data
 * folder itself: the path of a Unix socket has at most 107 characters.
 */
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

export const controlSocket = (folder: string): string => join(folder, "control.sock");
export const storeSocket = (folder: string): string => join(folder, "store.sock");

const PREFIX = "parley-";

const noteOf = (dataFolder: string): string => join(dataFolder, "workers.json");

/** Where the folder may be, the best place first. */
function places(): string[] {
  // Set by systemd for RuntimeDirectory=. A unit with PrivateTmp= has a /tmp of its own, which `parley reload` outside of it does not see.
  const [runtime = ""] = (process.env.RUNTIME_DIRECTORY ?? "").split(":");
  return (runtime.startsWith("/") ? [runtime, tmpdir()] : [tmpdir()]).map((place) => resolve(place));
}

/** Only its owner may enter: a program that can connect to the sockets reads and writes everything. */
function makeFolder(): string {
  for (const place of places().slice(0, -1)) {
    try {
      return mkdtempSync(join(place, PREFIX));
    } catch {
      // The variable was inherited from another service, whose folder is gone or not ours.
    }
  }
  return mkdtempSync(join(resolve(tmpdir()), PREFIX));
}

export class RunFolder {
  readonly path = makeFolder();

  constructor(private readonly dataFolder: string) {}

  /** From then on, `parley reload` finds the service. */
  announce(): void {
    // With PostgreSQL, nothing may have made the data folder yet.
    mkdirSync(this.dataFolder, { recursive: true, mode: 0o700 });
    writeFileSync(noteOf(this.dataFolder), JSON.stringify({ pid: process.pid, folder: this.path }), { mode: 0o600 });
  }

  remove(): void {
    removeRunFolder(this.path);
    if (announcedFolder(this.dataFolder) === this.path) rmSync(noteOf(this.dataFolder), { force: true });
  }
}

/** Removes the folder of an earlier service that ended without doing so. Only while no other one works on the data folder. */
export function removeLeftFolder(dataFolder: string): void {
  const folder = announcedFolder(dataFolder);
  if (folder !== undefined && isOurs(folder)) removeRunFolder(folder);
}

/** The note may be wrong: the name may be used by another user meanwhile, or be something else than a folder. */
function isOurs(folder: string): boolean {
  if (!places().some((place) => folder.startsWith(join(place, PREFIX)) && dirname(folder) === place)) return false;
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === process.getuid?.();
  } catch {
    return false;
  }
}

/** Also by a worker whose supervisor was killed. A folder that stays does no harm, so neither a start nor an end fails because of it. */
export function removeRunFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another user may have put something into it.
  }
}

/** The folder of the service that works on this data folder; it may have ended without removing the note. */
export function announcedFolder(dataFolder: string): string | undefined {
  try {
    const { folder } = JSON.parse(readFileSync(noteOf(dataFolder), "utf8")) as { folder?: unknown };
    return typeof folder === "string" ? folder : undefined;
  } catch {
    return undefined;
  }
}
