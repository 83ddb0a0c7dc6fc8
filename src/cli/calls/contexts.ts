/**
 * Contexts: services on other machines that this user has logged in to, each with its address and a token of its control plane. They are in
 * a folder that only the user can enter, one folder per context, with the keys that commands have made there.
 */
import { readdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import {
  isOtherUser,
  makePrivateFolder,
  readWithOwner,
  whyNotPrivate,
  writePrivateFile,
} from "../../base/private-file.ts";
import { isObject } from "../../protocol/json.ts";
import { UsageError } from "../line/errors.ts";
import type { Env } from "../line/input.ts";

export interface Context {
  readonly name: string;
  readonly url: string;
  /** Where the control plane is: with PARLEY_ADMIN_LISTEN it has an address of its own. */
  readonly controlUrl: string;
  /** The admin token, or an operator's. */
  readonly token: string;
}

const CONTEXTS_MAX = 100;
const FILE_MAX_BYTES = 10_000;
const CONTEXT_FILE = "context.json";
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NAME_ALLOWED = "1 to 64 letters, digits, . _ and -, beginning with a letter or a digit";

/** Throws a UsageError unless it can be the name of a context. */
export function contextName(text: string): string {
  if (!NAME.test(text)) throw new UsageError(`${JSON.stringify(text)} is not a valid context name: ${NAME_ALLOWED}`);
  return text;
}

/** undefined: this user has no folder for settings. */
function folderOf({ XDG_CONFIG_HOME: config = "", HOME: home = "" }: Env): string | undefined {
  if (isAbsolute(config)) return join(config, "parley");
  return isAbsolute(home) ? join(home, ".config", "parley") : undefined;
}

/** The folder if it is there. Throws a UsageError if others can enter it; one of another user counts as none, as with `sudo`. */
function usableFolder(env: Env): string | undefined {
  const folder = folderOf(env);
  const why = folder === undefined ? "does not exist" : whyNotPrivate(folder);
  if (why === undefined) return folder;
  if (why === "does not exist" || why === "belongs to another user") return undefined;
  throw new UsageError(`${folder}, where your contexts and their tokens are stored, ${why}`);
}

export const contextFolder = (env: Env, name: string): string => join(folderOf(env) ?? "", "contexts", name);

/** By name. Without those that cannot be read: a crash may have left one half made, and it must not stand in the way of the others. */
export function contexts(env: Env): readonly Context[] {
  return names(env).flatMap((name) => {
    try {
      return contextNamed(env, name, name);
    } catch (error) {
      if (error instanceof UsageError) return [];
      throw error;
    }
  });
}

/** The name that `parley use` has chosen; undefined: services of this machine. */
export function currentName(env: Env): string | undefined {
  const folder = usableFolder(env);
  const name = folder === undefined ? "" : ownText(join(folder, "current")).trim();
  return name === "" ? undefined : contextName(name);
}

/** Throws a UsageError if there is none of this name. */
export function contextNamed(env: Env, name: string, from: string): Context {
  const folder = usableFolder(env);
  if (folder !== undefined && namesIn(join(folder, "contexts")).includes(contextName(name)))
    return readContext(folder, name);
  throw new UsageError(
    `${from} asks for the context ${name}, which does not exist: create it with "parley login URL --name ${name}"; "parley contexts" lists them all`,
  );
}

/** Throws a UsageError if it cannot be kept. */
export function keepContext(env: Env, { name, ...fields }: Context): void {
  if (!names(env).includes(name) && names(env).length >= CONTEXTS_MAX)
    throw new UsageError(`you already have ${CONTEXTS_MAX} contexts: remove some with "parley logout NAME"`);
  inFolder(env, (folder) => {
    const own = join(folder, "contexts", name);
    for (const path of [join(folder, "contexts"), own]) makePrivateFolder(path);
    writePrivateFile(join(own, CONTEXT_FILE), `${JSON.stringify(fields)}\n`);
  });
}

/** undefined: services of this machine again. */
export function useContext(env: Env, name: string | undefined): void {
  if (name === undefined && usableFolder(env) === undefined) return;
  inFolder(env, (folder) => {
    if (name === undefined) rmSync(join(folder, "current"), { force: true });
    else writePrivateFile(join(folder, "current"), `${name}\n`);
  });
}

/** With the keys that are kept for it. */
export const removeContext = (env: Env, name: string): void =>
  inFolder(env, (folder) => {
    if (currentName(env) === name) rmSync(join(folder, "current"), { force: true });
    rmSync(join(folder, "contexts", name), { recursive: true, force: true });
  });

const names = (env: Env): readonly string[] => {
  const folder = usableFolder(env);
  return folder === undefined ? [] : namesIn(join(folder, "contexts"));
};

function namesIn(folder: string): readonly string[] {
  if (whyNotPrivate(folder) !== undefined) return [];
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .toSorted();
}

function inFolder(env: Env, work: (folder: string) => void): void {
  const folder = folderOf(env);
  if (folder === undefined) throw new UsageError("contexts need a folder: set HOME or XDG_CONFIG_HOME");
  try {
    makePrivateFolder(folder);
    work(folder);
  } catch (error) {
    throw new UsageError(`contexts cannot be saved in ${folder}: ${(error as Error).message}`);
  }
}

function readContext(folder: string, name: string): Context {
  const file = join(folder, "contexts", name, CONTEXT_FILE);
  const fields = parsed(ownText(file));
  if (!fields) throw new UsageError(`${file} is not a context: recreate it with "parley login URL --name ${name}"`);
  return { name, ...fields };
}

function parsed(text: string): Omit<Context, "name"> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { url, controlUrl, token } = value;
    if (typeof url !== "string" || typeof controlUrl !== "string" || typeof token !== "string") return undefined;
    return URL.canParse(url) && URL.canParse(controlUrl) ? { url, controlUrl, token } : undefined;
  } catch {
    return undefined;
  }
}

/** "" if there is no such file. */
function ownText(file: string): string {
  const found = readWithOwner(file, FILE_MAX_BYTES);
  if (found && isOtherUser(found.owner)) throw new UsageError(`${file} belongs to another user`);
  return found?.text ?? "";
}
