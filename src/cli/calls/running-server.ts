/**
 * Which data folder a command works with, and where its server listens. A running server notes that in the folder, so that commands on its
 * machine need no address. An address of another machine in a note is not used, nor what another user has put into a folder that the
 * caller has not named.
 */
import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import { isOtherUser } from "../../base/private-file.ts";
import { SETTINGS } from "../../config/settings.ts";
import { UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { givenAddress } from "./given-address.ts";
import { isThisMachine } from "./loopback.ts";
import { processOwner } from "./process-mark.ts";
import { type Addresses, addNote, type FoundNote, isAlive, notesIn } from "./server-notes.ts";
import { servicesOfUser, type UserService, whyUnlisted } from "./user-services.ts";

export type RunningServer =
  | ({ readonly state: "running"; readonly pid: number } & Addresses)
  /** The folder is that of a server, and none runs on it here; `why` is a clause for messages. */
  | { readonly state: "stopped"; readonly why: string }
  /** The notes cannot be read. */
  | { readonly state: "unknown"; readonly why: string }
  /** Where services of this user would be noted is not this user's own: another one may want commands to call a server of its own. */
  | { readonly state: "unlisted"; readonly why: string }
  /** It is not the folder of a server, or there is none. */
  | { readonly state: "none" };

/** What to do about a file or folder that the caller has not named. Follows its path. */
export const OF_OTHER_USER =
  "belongs to another user: if that is the service's user, pass its data folder with --data or PARLEY_DATA";

const NOTES = "servers";
/** Any of these shows that a server has used a folder. The notes stay as an empty folder. */
const LEFT_BY_SERVERS = [NOTES, "parley.sqlite", "first-run.txt", "command-line"];

/** Chosen once per command, so that the address and the credentials are always those of one service. */
const CHOSEN = new WeakMap<Input, Chosen>();

interface Chosen {
  readonly path: string;
  /** The caller has chosen the folder, and with it all who may write there. */
  readonly isNamed: boolean;
  /** It is that of a service which the user runs elsewhere. */
  readonly isElsewhere: boolean;
}

/** A folder that is named; ./data if a server has used it; else that of the only service that the user runs. */
function chosen(input: Input): Chosen {
  const before = CHOSEN.get(input);
  if (before) return before;
  const named = input.text("data") ?? (input.env.PARLEY_DATA || undefined);
  const elsewhere = named === undefined ? serviceElsewhere(input) : undefined;
  const choice: Chosen = {
    path: named ?? elsewhere?.data ?? SETTINGS.data.initial,
    isNamed: named !== undefined,
    isElsewhere: elsewhere !== undefined,
  };
  CHOSEN.set(input, choice);
  return choice;
}

function serviceElsewhere(input: Input): UserService | undefined {
  const own = SETTINGS.data.initial;
  const services = servicesOfUser(input.env);
  const given = givenAddress(input);
  if (given) return services.find((one) => isSameAddress(one, given.url) && one.data !== resolve(own));
  // In the folder of a server that does not run, another one would get what was meant for it.
  if (serverOn(own, false).state !== "none" || services.length === 0) return undefined;
  const folders = new Set(services.map(({ data }) => data));
  if (folders.size === 1) return services[0];
  throw new UsageError(
    `you are running several services here, and none in this folder: ${services.map(({ url, data }) => `${url} (${data})`).join(", ")}. Choose one with --url or --data, or make it a context ("parley login URL", "parley use NAME")`,
  );
}

const isSameAddress = (service: UserService, url: string): boolean => {
  const origin = (text: string): string => new URL(text).origin.replace("//localhost", "//127.0.0.1");
  return [service.url, service.controlUrl].some((one) => origin(one) === origin(url));
};

export const dataPath = (input: Input): string => chosen(input).path;

/** Returns how to remove the note. Throws what the system reports. */
export const noteServer = (dataFolder: string, addresses: Addresses): (() => void) =>
  addNote(join(dataFolder, NOTES), addresses);

export const isFolderNamed = (input: Input): boolean => chosen(input).isNamed;

export function runningServer(input: Input): RunningServer {
  const { path, isNamed, isElsewhere } = chosen(input);
  const service = isElsewhere ? servicesOfUser(input.env).find(({ data }) => data === path) : undefined;
  if (service) return { state: "running", ...service };
  const server = serverOn(path, isNamed);
  const why = server.state === "none" && !isNamed ? whyUnlisted(input.env) : undefined;
  return why === undefined ? server : { state: "unlisted", why };
}

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
      return { state: "unknown", why: `${folder}, which holds the server's address, cannot be read (${message})` };
  }
  const checked = found.map((one) => check(one, isNamed));
  const running = checked.find((one) => one.state === "running");
  if (running) return running;
  if (checked[0]) return checked[0];
  return LEFT_BY_SERVERS.some((name) => existsSync(join(dataFolder, name)))
    ? { state: "stopped", why: `no server is running on ${dataFolder}` }
    : { state: "none" };
}

type Checked = Extract<RunningServer, { state: "running" | "stopped" }>;

function check({ file, note, owner }: FoundNote, isNamed: boolean): Checked {
  const stopped = (why: string): Checked => ({ state: "stopped", why: `${file} ${why}` });
  if (!note) return stopped("does not hold a server's address");
  const { url, controlUrl, domain, pid, version } = note;
  if (!isAlive(note))
    return stopped(
      `names ${url}, but the server that wrote it (process ${pid}) ended without removing it, or runs on another machine or in a container`,
    );
  if (isOtherUser(owner) && !isNamed) return stopped(OF_OTHER_USER);
  if (process.getuid && processOwner(pid) !== owner)
    return stopped(`names process ${pid}, which runs as another user than the file's owner`);
  const elsewhere = [url, controlUrl].find((one) => !isOwnAddress(one));
  if (elsewhere !== undefined) return stopped(`names ${elsewhere}, which is not an IP address of this machine`);
  return { state: "running", url, controlUrl, domain, pid, ...(version !== undefined && { version }) };
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
