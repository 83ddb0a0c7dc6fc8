/**
 * The data folder of a service on this machine, in which commands find credentials. A user who may read the folder can read all its
 * secrets anyway. What is in it is sent only to this machine, or where a user sends it by naming the folder with --data.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { firstRunFile } from "../../node/parts/first-run.ts";
import { UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { foundServer, serverUrl } from "./address.ts";
import { dataPath, isThisMachine } from "./running-server.ts";

/** Credentials that commands have made or fetched with the admin token. */
const KEPT_FOLDER = "command-line";

export type FirstRunName = "admin token" | "secret key" | "app secret";

export class DataFolder {
  private readonly firstRun: string;
  readonly firstRunFile: string;

  /** Throws a UsageError if first-run.txt is there and cannot be read. */
  constructor(private readonly path: string) {
    this.firstRunFile = firstRunFile(path);
    this.firstRun = readIfThere(this.firstRunFile);
  }

  /** What the first start has written down; undefined if it is not there any more. */
  firstRunValue(name: FirstRunName): string | undefined {
    return new RegExp(`^ *${name} +(\\S+)$`, "m").exec(this.firstRun)?.[1];
  }

  keptFile(name: string): string {
    return join(this.path, KEPT_FOLDER, name);
  }

  /** undefined if there is none. */
  kept(name: string): string | undefined {
    return readIfThere(this.keptFile(name)).trim() || undefined;
  }

  /** Only its owner can read it. Throws what the system reports. */
  keep(name: string, value: string): void {
    mkdirSync(join(this.path, KEPT_FOLDER), { recursive: true, mode: 0o700 });
    writeFileSync(this.keptFile(name), `${value}\n`, { mode: 0o600 });
  }
}

/** A string is the reason why there is none, for a message. */
export function findDataFolder(input: Input): DataFolder | string {
  const isNamed = input.isOn("data");
  if (!isNamed && !foundServer(input) && !isThisMachine(serverUrl(input)))
    return "the service is on another machine; if it is on this one, name its data folder with --data";
  const path = dataPath(input);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return new DataFolder(path);
  return `there is no folder ${path} here: run this in the folder where the service was started with "parley up", or name its data folder with --data`;
}

/** "" if there is no such file. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return "";
    throw new UsageError(
      `${file} cannot be read: ${message}; run this as the user of the service, or give the credential yourself (see "parley help")`,
    );
  }
}
