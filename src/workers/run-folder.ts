/**
 * The folder of the sockets of a running service, and the note in the data folder that says where it is. The sockets are in the data
 * folder itself only if there is no other place: the path of a Unix socket has at most 107 bytes.
 */
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { writePrivateFile } from "../base/private-file.ts";
import { ConfigError } from "../config/load.ts";
import { SOCKET_PATH_MAX_BYTES } from "../remote/limits.ts";

export const controlSocket = (folder: string): string => join(folder, "control.sock");
export const storeSocket = (folder: string): string => join(folder, "store.sock");

const PREFIX = "parley-";
/** For a TMPDIR that does not exist, cannot be written, or is too long. */
const SYSTEM_TEMPORARY = "/tmp";
/** `mkdtemp` adds six characters to the prefix; no socket in the folder has a longer name than that of the control. */
const PLACE_MAX_BYTES = SOCKET_PATH_MAX_BYTES - Buffer.byteLength(`/${PREFIX}123456/control.sock`);

const noteOf = (dataFolder: string): string => join(dataFolder, "workers.json");

/** Where the folder may be, the best place first. */
function places(dataFolder: string): string[] {
  // Set by systemd for RuntimeDirectory=. A unit with PrivateTmp= has a /tmp of its own, which `parley reload` outside of it does not see.
  const [runtime = ""] = (process.env.RUNTIME_DIRECTORY ?? "").split(":");
  const all = [...(runtime.startsWith("/") ? [runtime] : []), tmpdir(), SYSTEM_TEMPORARY, dataFolder];
  return [...new Set(all.map((place) => resolve(place)))];
}

/** Only its owner may enter: a program that can connect to the sockets reads and writes everything. */
function makeFolder(dataFolder: string): string {
  const tried: string[] = [];
  for (const place of places(dataFolder)) {
    if (Buffer.byteLength(place) > PLACE_MAX_BYTES) {
      tried.push(`${place} has a path of more than ${PLACE_MAX_BYTES} bytes`);
      continue;
    }
    try {
      return mkdtempSync(join(place, PREFIX));
    } catch (error) {
      // A variable that was inherited from another service names a folder that is gone or not ours; TMPDIR may be wrong as well.
      tried.push((error as Error).message);
    }
  }
  throw new ConfigError(
    `the workers need a folder for their sockets, and there is none; set TMPDIR to a folder with a short path that can be written (${tried.join("; ")})`,
  );
}

export class RunFolder {
  readonly path: string;

  constructor(private readonly dataFolder: string) {
    this.path = makeFolder(dataFolder);
  }

  /** From then on, `parley reload` finds the service. */
  announce(): void {
    // With PostgreSQL, nothing may have made the data folder yet.
    mkdirSync(this.dataFolder, { recursive: true, mode: 0o700 });
    writePrivateFile(noteOf(this.dataFolder), JSON.stringify({ pid: process.pid, folder: this.path }));
  }

  remove(): void {
    removeRunFolder(this.path);
    if (announcedFolder(this.dataFolder) === this.path) rmSync(noteOf(this.dataFolder), { force: true });
  }
}

/** Removes the folder of an earlier service that ended without doing so. Only while no other one works on the data folder. */
export function removeLeftFolder(dataFolder: string): void {
  const folder = announcedFolder(dataFolder);
  if (folder !== undefined && isOurs(folder, dataFolder)) removeRunFolder(folder);
}

/** The note may be wrong: the name may be used by another user meanwhile, or be something else than a folder. */
function isOurs(folder: string, dataFolder: string): boolean {
  if (!places(dataFolder).some((place) => folder.startsWith(join(place, PREFIX)) && dirname(folder) === place))
    return false;
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
