/** The credentials of commands. The admin token is never an argument, because every user of the machine can read those. */
import { readFileSync } from "node:fs";
import { UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { foundServer } from "./address.ts";
import { findDataFolder } from "./data-folder.ts";
import { credentialsEnv, givenAddress } from "./given-address.ts";

export interface Credential {
  readonly value: string;
  /** The message for a credential that the server refuses. */
  readonly refused: string;
}

const HEADER_SAFE = /^[\x21-\x7e]+$/;
const OPERATOR_PREFIX = "op_";
/** The last is the server's own setting, which commands have read from the beginning. */
const TOKEN_VARIABLES = ["PARLEY_OPERATOR_TOKEN", "PARLEY_ADMIN_TOKEN"] as const;

/** The admin token, or an operator's: from a file, the environment, or first-run.txt of a service on this machine. */
export function adminToken(input: Input): Credential {
  const file = input.text("admin-token-file");
  if (file !== undefined) {
    const value = readSecret("admin-token-file", file);
    if (value === "") throw new UsageError(`--admin-token-file ${file} is empty`);
    return tokenCredential(value, `--admin-token-file ${file}`);
  }
  const env = credentialsEnv(input);
  for (const name of TOKEN_VARIABLES) {
    const value = env[name]?.trim();
    if (value) return tokenCredential(value, name);
  }
  const folder = findDataFolder(input);
  const found = typeof folder === "string" ? undefined : folder.firstRunValue("admin token");
  if (typeof folder !== "string" && found !== undefined) return foundToken(input, found, folder.firstRunFile);
  const why =
    typeof folder === "string"
      ? folder
      : `${folder.firstRunFile} does not have it; if you have lost it, stop the server and run "parley admin reset-token"`;
  const url = givenAddress(input)?.url ?? foundServer(input)?.url ?? "URL";
  throw new UsageError(
    `this needs the admin token or an operator's token: run "parley login ${url}" to save one, set PARLEY_OPERATOR_TOKEN, or pass a file with --admin-token-file (${why})`,
  );
}

function foundToken(input: Input, value: string, from: string): Credential {
  const credential = tokenCredential(value, from);
  const context = givenAddress(input)?.context;
  const renew = context && `; "parley login ${context.url} --name ${context.name}" saves a new one`;
  return { ...credential, refused: `${credential.refused}${renew ?? ""}` };
}

/** Whether a flag or a variable gives a credential of the control plane. */
export const hasAdminToken = (input: Input): boolean =>
  input.isOn("admin-token-file") || TOKEN_VARIABLES.some((name) => Boolean(credentialsEnv(input)[name]?.trim()));

export const hasPlaceholder = (value: string): boolean => /…|\.\.\./.test(value);

/** Our pages and first-run.txt show credentials cut short, as `sk_id_…:sk_secret_…`; some people paste them so. */
export function refusePlaceholder(value: string, from: string): void {
  if (hasPlaceholder(value))
    throw new UsageError(
      `${from} contains the placeholder ${value.includes("…") ? "…" : "..."}: replace it with the value in data/first-run.txt, which the service wrote on its first start`,
    );
}

export function tokenCredential(value: string, from: string): Credential {
  refusePlaceholder(value, from);
  if (!HEADER_SAFE.test(value)) throw new UsageError(`${from} must contain a token and nothing else`);
  const refused = value.startsWith(OPERATOR_PREFIX)
    ? `the operator's token of ${from} was revoked, or belongs to another server`
    : `the token of ${from} is no longer valid, or belongs to another server`;
  return { value, refused };
}

/** For commands that run for a long time, during which their arguments are visible in the list of processes. */
export function keyFromFile(input: Input): Credential | undefined {
  const file = input.text("secret-key-file");
  if (file !== undefined) {
    const value = readSecret("secret-key-file", file);
    if (value === "") throw new UsageError(`--secret-key-file ${file} is empty`);
    return keyCredential(value, `--secret-key-file ${file}`);
  }
  // --app asks for another application than that of the variable.
  const value = input.isOn("app") ? undefined : credentialsEnv(input).PARLEY_KEY?.trim();
  return value ? keyCredential(value, "PARLEY_KEY") : undefined;
}

export function keyCredential(value: string, from: string): Credential {
  refusePlaceholder(value, from);
  if (!/^sk_id_[^:]+:[^:]+$/.test(value) || !HEADER_SAFE.test(value))
    throw new UsageError(`${from} must be a secret key's id and its secret, separated by a colon: sk_id_…:sk_secret_…`);
  return { value, refused: `the secret key of ${from} was refused: it is unknown or revoked, or its secret is wrong` };
}

/** The app secret, for the application's own host; undefined if neither a flag nor a variable gives it. */
export function givenAppSecret(input: Input): Credential | undefined {
  const file = input.text("app-secret-file");
  if (file !== undefined) {
    const value = readSecret("app-secret-file", file);
    if (value === "") throw new UsageError(`--app-secret-file ${file} is empty`);
    return appSecretCredential(value, `--app-secret-file ${file}`);
  }
  const value = credentialsEnv(input).PARLEY_APP_SECRET?.trim();
  return value ? appSecretCredential(value, "PARLEY_APP_SECRET") : undefined;
}

export function appSecretCredential(value: string, from: string): Credential {
  refusePlaceholder(value, from);
  if (!HEADER_SAFE.test(value)) throw new UsageError(`${from} must contain the app secret and nothing else`);
  return { value, refused: `there is no such application, or the app secret of ${from} belongs to another one` };
}

function readSecret(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`--${flag} ${file} cannot be read: ${(error as Error).message}`);
  }
}
