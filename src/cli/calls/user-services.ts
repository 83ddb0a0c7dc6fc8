/**
 * The services that this user runs on this machine, whichever folder they were started in: each notes itself in the user's runtime folder.
 * A note has no secret, but decides where secrets are sent. So the folder must be one that only its user can enter, and commands take
 * nothing but loopback addresses from it.
 */
import { lstatSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isOtherUser, makePrivateFolder, whyNotPrivate } from "../../base/private-file.ts";
import type { Env } from "../line/input.ts";
import { isLoopback } from "./loopback.ts";
import { processOwner } from "./process-mark.ts";
import { type Addresses, addNote, type FoundNote, hasEnded, isAlive, notesIn, removeNote } from "./server-notes.ts";

export interface UserService extends Addresses {
  readonly pid: number;
  /** Its data folder, as an absolute path. */
  readonly data: string;
}

/** $XDG_RUNTIME_DIR/parley. Without such a folder of this user, one in the folder for temporary files, where others may have made theirs. */
function runtimeFolder({ XDG_RUNTIME_DIR: runtime = "" }: Env): string {
  const found = isAbsolute(runtime) ? lstatSync(runtime, { throwIfNoEntry: false }) : undefined;
  const isOwn = found !== undefined && !isOtherUser(found.uid);
  return isOwn ? join(runtime, "parley") : join(tmpdir(), `parley-${process.getuid?.() ?? "user"}`);
}

type Noted = Addresses & { readonly data: string };

/** Notes the service for commands in other folders; returns how to remove the note. Throws what the system reports. */
export function noteForUser(env: Env, service: Noted): () => void {
  const folder = runtimeFolder(env);
  const remove = noteIn(folder, service);
  return () => {
    remove();
    removeIfEmpty(folder);
  };
}

function noteIn(folder: string, service: Noted): () => void {
  makePrivateFolder(folder);
  try {
    return addNote(folder, service);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // Another service of this user, the last one in it, has removed the folder at this moment.
    makePrivateFolder(folder);
    return addNote(folder, service);
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Another service is noted in it.
  }
}

/** Those that run, the one that was started last first. Notes of processes that have ended are removed. */
export function servicesOfUser(env: Env): readonly UserService[] {
  const folder = runtimeFolder(env);
  if (whyNotPrivate(folder) !== undefined) return [];
  return notesOf(folder).flatMap(({ file, note, owner }) => {
    if (!note || isOtherUser(owner)) return [];
    if (hasEnded(note)) removeNote(file);
    const { url, controlUrl, domain, data, pid } = note;
    const isUsable = data !== undefined && isAlive(note) && isOfUser(pid) && isLoopback(url) && isLoopback(controlUrl);
    return isUsable ? [{ url, controlUrl, domain, data, pid }] : [];
  });
}

/** Why the services that this user runs cannot be found; undefined: they can, or there are none. */
export function whyUnlisted(env: Env): string | undefined {
  const folder = runtimeFolder(env);
  if (!lstatSync(folder, { throwIfNoEntry: false })) return undefined;
  const why = whyNotPrivate(folder);
  return why && `${folder}, which lists the services you are running, ${why}`;
}

/** Another user's process may have the number of one that this user had. */
const isOfUser = (pid: number): boolean => process.getuid === undefined || processOwner(pid) === process.getuid();

function notesOf(folder: string): readonly FoundNote[] {
  try {
    return notesIn(folder);
  } catch {
    // It was removed at this moment, or cannot be listed: commands work with the data folder alone.
    return [];
  }
}
