/**
 * On the machine of a service its data folder has a secret key for commands: that of the demo, in first-run.txt, or one that was made
 * with the admin token for another application. A user who may read the folder can read all its secrets anyway.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS } from "../config/settings.ts";
import { DEMO, firstRunFile } from "../node/first-run.ts";
import { ACTIONS } from "../protocol/actions.ts";
import { backendApi, controlPlane, serverUrl } from "./client.ts";
import { adminToken, type Credential, keyCredential } from "./credentials.ts";
import { Failure, UsageError } from "./errors.ts";
import type { Input } from "./input.ts";

const KEYS_FOLDER = "command-line";
/** How the key is called in lists of keys. */
const LABEL = "command line";
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

export async function dataFolderKey(input: Input): Promise<Credential> {
  const app = input.text("app") ?? (input.env.PARLEY_APP || DEMO);
  if (!/^[A-Za-z0-9_-]+$/.test(app)) throw new UsageError(`${JSON.stringify(app)} is not the name of an application`);
  const data = folderOf(input);
  const first = readIfThere(firstRunFile(data));
  const demoKey = firstRunValue(first, "secret key");
  if (app === DEMO && demoKey) return keyCredential(demoKey, firstRunFile(data));
  const file = join(data, KEYS_FOLDER, `${app}.key`);
  const kept = readIfThere(file).trim();
  if (kept !== "") {
    const credential = keyCredential(kept, file);
    if (await isAccepted(input, credential)) return credential;
  }
  return makeKey(input, app, file, first);
}

function folderOf(input: Input): string {
  const data = input.text("data") ?? (input.env.PARLEY_DATA || SETTINGS.data.initial);
  // The keys of this machine's service must not be sent to another one.
  const isHere = input.isOn("data") || LOOPBACK.test(new URL(serverUrl(input)).hostname);
  if (!isHere)
    throw new UsageError(
      "a key is needed for a service on another machine: set PARLEY_KEY to a secret key (SK_ID:SK_SECRET) or to a publishable one, or use --key",
    );
  if (!existsSync(data))
    throw new UsageError(
      `a key is needed: set PARLEY_KEY=SK_ID:SK_SECRET, or use --key; on the machine of the service, name its data folder with --data (there is no ${data})`,
    );
  return data;
}

/** Makes a secret key for commands, and keeps it. */
async function makeKey(input: Input, app: string, file: string, firstRun: string): Promise<Credential> {
  const control = controlPlane(input, adminCredential(input, app, file, firstRun));
  const wanted = { app, type: "secret", channelPatterns: ["**"], actions: ACTIONS, label: LABEL };
  const made = await control.post<{ keyId: string; secret: string }>("/signalling/keys", wanted).catch((error) => {
    if (!(error instanceof Failure) || error.code !== "not_found") throw error;
    throw new Failure(error.code, `there is no application ${app}; "parley apps list" shows them`);
  });
  const key = `${made.keyId}:${made.secret}`;
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
  } catch (error) {
    await control.delete(`/signalling/keys/${made.keyId}`);
    throw new Failure(
      "system",
      `the key for ${app} cannot be kept: ${(error as Error).message}; set PARLEY_KEY instead`,
    );
  }
  return keyCredential(key, file);
}

function adminCredential(input: Input, app: string, file: string, firstRun: string): Credential {
  const isGiven = input.isOn("admin-token-file") || Boolean(input.env.PARLEY_ADMIN_TOKEN);
  const value = firstRunValue(firstRun, "admin token");
  if (isGiven) return adminToken(input);
  if (value) return { value, refused: "the admin token of first-run.txt is not this server's any more" };
  throw new UsageError(
    `there is no key for the application ${app} here: set PARLEY_KEY=SK_ID:SK_SECRET, or use --key; or set PARLEY_ADMIN_TOKEN, then a key is made and kept in ${file}`,
  );
}

/** A key that is revoked, or belongs to an earlier store, is replaced. */
async function isAccepted(input: Input, credential: Credential): Promise<boolean> {
  try {
    await backendApi(input, credential).get("/usage");
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === "unauthorized") return false;
    throw error;
  }
}

const firstRunValue = (text: string, name: string): string | undefined =>
  new RegExp(`^ *${name} +(\\S+)$`, "m").exec(text)?.[1];

/** "" if there is no such file. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return "";
    throw new UsageError(
      `${file} cannot be read: ${(error as Error).message}; run this as the user of the service, or set PARLEY_KEY`,
    );
  }
}
