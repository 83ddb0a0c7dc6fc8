/**
 * The folder of the sockets of a running service, and the note in the data folder that says where it is. The sockets are not in the data
 * folder itself: the path of a Unix socket has at most 107 characters.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const controlSocket = (folder: string): string => join(folder, "control.sock");
export const storeSocket = (folder: string): string => join(folder, "store.sock");

const PREFIX = join(tmpdir(), "parley-");

const noteOf = (dataFolder: string): string => join(dataFolder, "workers.json");

export class RunFolder {
  readonly path: string;

  constructor(private readonly dataFolder: string) {
    // Only its owner may enter: a program that can connect to the sockets reads and writes everything.
    this.path = mkdtempSync(PREFIX);
  }

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
  if (folder?.startsWith(PREFIX) && !folder.includes("/", PREFIX.length)) removeRunFolder(folder);
}

/** Also by a worker whose supervisor was killed. */
export const removeRunFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** The folder of the service that works on this data folder; it may have ended without removing the note. */
export function announcedFolder(dataFolder: string): string | undefined {
  try {
    const { folder } = JSON.parse(readFileSync(noteOf(dataFolder), "utf8")) as { folder?: unknown };
    return typeof folder === "string" ? folder : undefined;
  } catch {
    return undefined;
  }
}
