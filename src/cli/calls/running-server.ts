/**
 * Where the server of a data folder listens. A running server notes it in `server.json`, so that commands on its machine need no
 * address. The note has no secret, but decides where secrets are sent: an address of another machine in it is not used.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { SETTINGS } from "../../config/settings.ts";
import { isObject } from "../../protocol/json.ts";
import type { Input } from "../line/input.ts";
import { processMark } from "./process-mark.ts";

export interface Addresses {
  readonly url: string;
  /** Where the control plane is: with PARLEY_ADMIN_LISTEN it has an address of its own. */
  readonly controlUrl: string;
  /** PARLEY_DOMAIN. */
  readonly domain: string;
}

interface Note extends Addresses {
  readonly pid: number;
  /** What `processMark` says about that process. */
  readonly mark: string;
}

export type RunningServer =
  | ({ readonly state: "running"; readonly pid: number } & Addresses)
  /** There is a note that is of no use; `why` is a clause for messages. */
  | { readonly state: "unknown"; readonly why: string }
  | { readonly state: "none" };

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether an address leads to this machine, whatever the network is. */
export const isThisMachine = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);

const noteFile = (dataFolder: string): string => join(dataFolder, "server.json");

export const dataPath = (input: Input): string =>
  input.text("data") ?? (input.env.PARLEY_DATA || SETTINGS.data.initial);

/** Returns how to remove the note. Throws what the system reports. */
export function noteServer(dataFolder: string, addresses: Addresses): () => void {
  const note: Note = { ...addresses, pid: process.pid, mark: processMark(process.pid) ?? "" };
  const file = noteFile(dataFolder);
  // Renamed, so that no command reads half of it.
  const partial = `${file}.${process.pid}.partial`;
  // With PostgreSQL, nothing may have made the data folder yet.
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  rmSync(partial, { force: true });
  writeFileSync(partial, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  renameSync(partial, file);
  return () => removeNote(file, note);
}

/** With PostgreSQL, another server may have replaced it. At the end of a process, there is no one left to tell about a failure. */
function removeNote(file: string, { pid, mark }: Note): void {
  try {
    const found = noteIn(readFileSync(file, "utf8"));
    if (found?.pid === pid && found.mark === mark) rmSync(file, { force: true });
  } catch {
    // A note that stays is recognised by its process, which has ended.
  }
}

export function runningServer(input: Input): RunningServer {
  const file = noteFile(dataPath(input));
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "none" };
    // Not a failure: with credentials of their own, other users may call a server at the default address.
    return { state: "unknown", why: `${file}, which has the address of the server, cannot be read (${message})` };
  }
  const note = noteIn(text);
  if (!note) return { state: "unknown", why: `${file} does not have the address of a server` };
  const { pid, mark, ...addresses } = note;
  if (mark === "" || processMark(pid) !== mark)
    return {
      state: "unknown",
      why: `${file} names ${note.url}, but the server that wrote it (process ${pid}) has ended without removing it, or runs on another machine or in a container`,
    };
  const elsewhere = [note.url, note.controlUrl].find((url) => !isOwnAddress(url));
  if (elsewhere !== undefined)
    return { state: "unknown", why: `${file} names ${elsewhere}, which is not an IP address of this machine` };
  return { state: "running", pid, ...addresses };
}

function noteIn(text: string): Note | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { url, controlUrl, domain, pid, mark } = value;
    const isValid = isOrigin(url) && isOrigin(controlUrl) && typeof domain === "string" && typeof mark === "string";
    return isValid && Number.isSafeInteger(pid) && Number(pid) > 0
      ? { url, controlUrl, domain, mark, pid: Number(pid) }
      : undefined;
  } catch {
    return undefined;
  }
}

const isOrigin = (value: unknown): value is string =>
  typeof value === "string" && /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value;

/** Only loopback and IP addresses: who answers to another name is decided by the network. */
function isOwnAddress(url: string): boolean {
  if (isThisMachine(url)) return true;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  try {
    return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === host));
  } catch {
    // Listing interfaces needs a netlink socket, which a sandbox may forbid.
    return false;
  }
}
