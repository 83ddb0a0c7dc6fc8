/**
 * The data folder of a service on this machine, in which commands find credentials. A user who may read the folder can read all its
 * secrets anyway. What is in it is sent only to this machine, or where a user sends it by naming the folder with --data.
 *
 * A folder that the caller has not named is the one in the current folder, where another user may have made it, to be given the caller's
 * credentials or messages. Nothing of other users is used in it.
 */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isOfOtherUser, isOtherUser, readWithOwner, writePrivateFile } from "../../base/private-file.ts";
import { firstRunFile } from "../../node/parts/first-run.ts";
import { UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { foundServer, serverUrl } from "./address.ts";
import { type Context, contextFolder } from "./contexts.ts";
import { givenAddress } from "./given-address.ts";
import { isThisMachine } from "./loopback.ts";
import { dataPath, isFolderNamed, OF_OTHER_USER } from "./running-server.ts";

/** Credentials that commands have made or fetched with the admin token. */
const KEPT_FOLDER = "command-line";
/** What the service and commands write is much shorter. */
const FILE_MAX_BYTES = 100_000;

export type FirstRunName = "admin token" | "secret key" | "app secret";

/** Where commands find credentials, and keep those that they have made or fetched. */
export interface CredentialFolder {
  /** In which file or context the first ones are, for messages. */
  readonly firstRunFile: string;
  firstRunValue(name: FirstRunName): string | undefined;
  keptFile(name: string): string;
  /** undefined if there is none. Throws a UsageError if it cannot be read or used. */
  kept(name: string): string | undefined;
  /** Only this user can read it. Throws what the system reports. */
  keep(name: string, value: string): void;
  /** Removes it if it is there and can be removed. */
  forget(name: string): void;
}

/** That of a context: the token with which its user has logged in, and what commands have made with it. */
class ContextFolder implements CredentialFolder {
  readonly firstRunFile: string;

  constructor(
    private readonly path: string,
    private readonly context: Context,
  ) {
    this.firstRunFile = `the context ${context.name}`;
  }

  firstRunValue(name: FirstRunName): string | undefined {
    return name === "admin token" ? this.context.token : undefined;
  }

  keptFile(name: string): string {
    return join(this.path, name);
  }

  kept(name: string): string | undefined {
    const found = readIfThere(this.keptFile(name));
    if (found && isOtherUser(found.owner)) throw new UsageError(`${this.keptFile(name)} belongs to another user`);
    return found?.text.trim() || undefined;
  }

  keep(name: string, value: string): void {
    writePrivateFile(this.keptFile(name), `${value}\n`);
  }

  forget(name: string): void {
    removeIfPossible(this.keptFile(name));
  }
}

class DataFolder implements CredentialFolder {
  private readonly firstRun: string;
  readonly firstRunFile: string;

  /** Throws a UsageError if first-run.txt is there and cannot be read or used. */
  constructor(
    private readonly path: string,
    private readonly isNamed: boolean,
  ) {
    this.firstRunFile = firstRunFile(path);
    this.firstRun = this.read(this.firstRunFile);
  }

  /** What the first start has written down; undefined if it is not there any more. */
  firstRunValue(name: FirstRunName): string | undefined {
    return new RegExp(`^ *${name} +(\\S+)$`, "m").exec(this.firstRun)?.[1];
  }

  keptFile(name: string): string {
    return join(this.path, KEPT_FOLDER, name);
  }

  kept(name: string): string | undefined {
    const folder = join(this.path, KEPT_FOLDER);
    if (!this.isNamed && isOfOtherUser(folder)) throw new UsageError(`${folder} ${OF_OTHER_USER}`);
    return this.read(this.keptFile(name)).trim() || undefined;
  }

  keep(name: string, value: string): void {
    mkdirSync(join(this.path, KEPT_FOLDER), { recursive: true, mode: 0o700 });
    writePrivateFile(this.keptFile(name), `${value}\n`);
  }

  forget(name: string): void {
    const folder = join(this.path, KEPT_FOLDER);
    if (this.isNamed || !isOfOtherUser(folder)) removeIfPossible(this.keptFile(name));
  }

  /** "" if there is no such file. */
  private read(file: string): string {
    const found = readIfThere(file);
    if (found && !this.isNamed && isOtherUser(found.owner)) throw new UsageError(`${file} ${OF_OTHER_USER}`);
    return found?.text ?? "";
  }
}

/** A string is the reason why there is none, for a message. */
export function findDataFolder(input: Input): CredentialFolder | string {
  const context = givenAddress(input)?.context;
  if (context) return new ContextFolder(contextFolder(input.env, context.name), context);
  if (!input.isOn("data") && !foundServer(input) && !isThisMachine(serverUrl(input)))
    return "the service is on another machine; if it is on this one, pass its data folder with --data";
  const path = dataPath(input);
  const isNamed = isFolderNamed(input);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return `there is no folder ${path} here: run this in the folder where you ran "parley up", or pass the data folder with --data`;
  return !isNamed && isOfOtherUser(path) ? `the folder ${path} ${OF_OTHER_USER}` : new DataFolder(path, isNamed);
}

function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It belongs to another user, or the folder does.
  }
}

function readIfThere(file: string): ReturnType<typeof readWithOwner> {
  try {
    return readWithOwner(file, FILE_MAX_BYTES);
  } catch (error) {
    throw new UsageError(
      `${file} cannot be read: ${(error as Error).message}; run this as the user of the service, or give the credential yourself (see "parley help")`,
    );
  }
}
