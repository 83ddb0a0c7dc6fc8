/**
 * Where the server of a data folder listens. A running server notes it in the folder, so that commands on its machine need no address.
 * An address of another machine in a note is not used, nor what another user has put into a folder that the caller has not named.
 */
import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { isOtherUser } from "../../base/private-file.ts";
import { SETTINGS } from "../../config/settings.ts";
import type { Input } from "../line/input.ts";
import { processOwner } from "./process-mark.ts";
import { type Addresses, addNote, type FoundNote, isAlive, notesIn } from "./server-notes.ts";

export type RunningServer =
  | ({ readonly state: "running"; readonly pid: number } & Addresses)
  /** The folder is that of a server, and none runs on it here; `why` is a clause for messages. */
  | { readonly state: "stopped"; readonly why: string }
  /** The notes cannot be read. */
  | { readonly state: "unknown"; readonly why: string }
  /** It is not the folder of a server, or there is none. */
  | { readonly state: "none" };

/** What to do about a file or folder that the caller has not named. Follows its path. */
export const OF_OTHER_USER =
  "belongs to another user: if that is the service's, name its data folder with --data or PARLEY_DATA";

const NOTES = "servers";
/** Any of these shows that a server has used a folder. The notes stay as an empty folder. */
const LEFT_BY_SERVERS = [NOTES, "parley.sqlite", "first-run.txt", "command-line"];
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether an address leads to this machine, whatever the network is. */
export const isThisMachine = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);

export const dataPath = (input: Input): string =>
  input.text("data") ?? (input.env.PARLEY_DATA || SETTINGS.data.initial);

/** Returns how to remove the note. Throws what the system reports. */
export const noteServer = (dataFolder: string, addresses: Addresses): (() => void) =>
  addNote(join(dataFolder, NOTES), addresses);

/** The caller has chosen the folder, and with it all who may write there. */
export const isFolderNamed = (input: Input): boolean =>
  input.text("data") !== undefined || Boolean(input.env.PARLEY_DATA);

export const runningServer = (input: Input): RunningServer => serverOn(dataPath(input), isFolderNamed(input));

/** If several servers share the folder, the one that was started last: they serve the same. */
export function serverOn(dataFolder: string, isNamed: boolean): RunningServer {
  const folder = join(dataFolder, NOTES);
  let found: readonly FoundNote[] = [];
  try {
    found = notesIn(folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Not a failure: with credentials of their own, other users may call a server at the default address.
    if (code !== "ENOENT" && code !== "ENOTDIR")
      return { state: "unknown", why: `${folder}, which has the address of the server, cannot be read (${message})` };
  }
  const checked = found.map((one) => check(one, isNamed));
  const running = checked.find((one) => one.state === "running");
  if (running) return running;
  if (checked[0]) return checked[0];
  return LEFT_BY_SERVERS.some((name) => existsSync(join(dataFolder, name)))
    ? { state: "stopped", why: `no server runs on ${dataFolder}` }
    : { state: "none" };
}

type Checked = Extract<RunningServer, { state: "running" | "stopped" }>;

function check({ file, note, owner }: FoundNote, isNamed: boolean): Checked {
  const stopped = (why: string): Checked => ({ state: "stopped", why: `${file} ${why}` });
  if (!note) return stopped("does not have the address of a server");
  const { url, controlUrl, domain, pid } = note;
  if (!isAlive(note))
    return stopped(
      `names ${url}, but the server that wrote it (process ${pid}) has ended without removing it, or runs on another machine or in a container`,
    );
  if (isOtherUser(owner) && !isNamed) return stopped(OF_OTHER_USER);
  if (process.getuid && processOwner(pid) !== owner)
    return stopped(`names process ${pid}, which runs as another user than the file's owner`);
  const elsewhere = [url, controlUrl].find((one) => !isOwnAddress(one));
  if (elsewhere !== undefined) return stopped(`names ${elsewhere}, which is not an IP address of this machine`);
  return { state: "running", url, controlUrl, domain, pid };
}

/** Only loopback and IP addresses: who answers to another name is decided by the network. */
function isOwnAddress(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (isThisMachine(url)) return !host.endsWith(".localhost");
  try {
    return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === host));
  } catch {
    // Listing interfaces needs a netlink socket, which a sandbox may forbid.
    return false;
  }
}
