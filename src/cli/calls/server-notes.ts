/**
 * Notes of running servers in a folder: one file per process, because servers with PostgreSQL can share a data folder, and one that
 * stops must not take the note of another with it. A note has no secret, but decides where secrets are sent.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { readWithOwner, writePrivateFile } from "../../base/private-file.ts";
import { isObject } from "../../protocol/json.ts";
import { processMark } from "./process-mark.ts";

export interface Addresses {
  readonly url: string;
  /** Where the control plane is: with PARLEY_ADMIN_LISTEN it has an address of its own. */
  readonly controlUrl: string;
  /** PARLEY_DOMAIN. */
  readonly domain: string;
  /** The data folder, in notes that are elsewhere. */
  readonly data?: string;
  /** Of Parley. Absent in notes that earlier states of the main branch wrote. */
  readonly version?: string;
}

export interface Note extends Addresses {
  /** The name of the machine or container: processes of another one cannot be seen from here. */
  readonly host: string;
  readonly pid: number;
  /** What `processMark` says about that process. */
  readonly mark: string;
}

export interface FoundNote {
  readonly file: string;
  /** The id of the user who has written it. */
  readonly owner: number;
  /** undefined: the file does not contain a note. */
  readonly note: Note | undefined;
}

/** Notes of killed servers in containers that no longer exist stay; beyond this many files, the oldest are removed. */
const NOTES_MAX = 100;
const NOTE_MAX_BYTES = 10_000;

/** Adds a note about this process; returns how to remove it. Throws what the system reports. */
export function addNote(folder: string, addresses: Addresses): () => void {
  const mark = processMark(process.pid);
  if (mark === undefined) throw new Error("this system does not report when a process started");
  const note: Note = { ...addresses, host: hostname(), pid: process.pid, mark };
  // With its host: the first process of every container has the same number.
  const file = join(folder, `${note.host.replaceAll(/[^\w.-]/g, "_")}-${note.pid}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writePrivateFile(file, `${JSON.stringify(note)}\n`);
  removeOld(folder, file);
  return () => removeNote(file);
}

/** Newest first. Throws what the system reports. */
export function notesIn(folder: string): FoundNote[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      const file = join(folder, name);
      const found = readWithOwner(file, NOTE_MAX_BYTES);
      return found ? [{ file, owner: found.owner, note: noteIn(found.text), at: found.modifiedMs }] : [];
    })
    .toSorted((a, b) => b.at - a.at);
}

export const isAlive = ({ pid, mark }: Note): boolean => processMark(pid) === mark;

/** Processes of other machines and containers cannot be seen from here. */
export const hasEnded = (note: Note): boolean => note.host === hostname() && !isAlive(note);

/** A killed process leaves its note behind. */
function removeOld(folder: string, own: string): void {
  for (const [at, { file, note }] of notesIn(folder).entries())
    if (file !== own && ((note && hasEnded(note)) || at >= NOTES_MAX)) removeNote(file);
}

export function removeNote(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // A note that stays is recognised by its process, which has ended.
  }
}

function noteIn(text: string): Note | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { url, controlUrl, domain, data, version, host, pid, mark } = value;
    if (!isOrigin(url) || !isOrigin(controlUrl)) return undefined;
    if (typeof domain !== "string" || typeof host !== "string" || typeof mark !== "string") return undefined;
    if (!Number.isSafeInteger(pid) || Number(pid) <= 0) return undefined;
    const more = { ...(typeof data === "string" && { data }), ...(typeof version === "string" && { version }) };
    return { url, controlUrl, domain, host, pid: Number(pid), mark, ...more };
  } catch {
    return undefined;
  }
}

const isOrigin = (value: unknown): value is string =>
  typeof value === "string" && /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value;
