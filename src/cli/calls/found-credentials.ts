/**
 * Credentials of an application that commands find themselves, on the machine of its service: those of the demo are in first-run.txt.
 * Those of another application are made or fetched with the admin token, and kept in the data folder.
 */
import { DEMO } from "../../node/parts/first-run.ts";
import { ACTIONS } from "../../protocol/actions.ts";
import { CredentialRefused, Failure, UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { appNamed } from "./address.ts";
import { applicationServer, backendApi, controlPlane, type Server } from "./client.ts";
import { adminToken, appSecretCredential, type Credential, hasAdminToken, keyCredential } from "./credentials.ts";
import { type CredentialFolder, type FirstRunName, findDataFolder } from "./data-folder.ts";

/** How the key is called in lists of keys. */
const LABEL = "command line";

/** What may be part of the name of a file. */
const NAME = /^[A-Za-z0-9_-]+$/;

/** A kind of credential. */
interface Kind {
  readonly what: string;
  /** How to give one, for messages. */
  readonly give: string;
  readonly firstRunName: FirstRunName;
  /** Its file in the data folder is the name of the application with this extension. */
  readonly extension: string;
  readonly credential: (value: string, from: string) => Credential;
  /** A call that needs the credential and changes nothing. */
  readonly tryOut: (input: Input, credential: Credential) => Promise<unknown>;
  /** Gets one for an application. `discard` ends what was made for us and cannot be kept. */
  readonly get: (control: Server, app: string) => Promise<{ value: string; discard?: () => Promise<unknown> }>;
}

const SECRET_KEY: Kind = {
  what: "a key",
  give: "set PARLEY_KEY to a secret key (SK_ID:SK_SECRET), or use --key",
  firstRunName: "secret key",
  extension: "key",
  credential: keyCredential,
  tryOut: (input, credential) => backendApi(input, credential).get("/usage"),
  get: async (control, app) => {
    const wanted = { app, type: "secret", channelPatterns: ["**"], actions: ACTIONS, label: LABEL };
    const { keyId, secret } = await control.post<{ keyId: string; secret: string }>("/signalling/keys", wanted);
    return { value: `${keyId}:${secret}`, discard: () => control.delete(`/signalling/keys/${keyId}`) };
  },
};

const APP_SECRET: Kind = {
  what: "the app secret",
  give: "set PARLEY_APP_SECRET, or pass a file with --app-secret-file",
  firstRunName: "app secret",
  // Kept, because the audit has an entry for each time that it is shown.
  extension: "secret",
  credential: appSecretCredential,
  tryOut: (input, credential) => applicationServer(input, credential).get("/rooms?limit=1"),
  get: async (control, app) => ({
    value: (await control.get<{ secretKey: string }>(`/apps/${app}/secret-key`)).secretKey,
  }),
};

/** A secret key for the REST API, and to mint tokens with. `give` is how this command is given one. */
export const foundKey = (input: Input, give = SECRET_KEY.give): Promise<Credential> =>
  found(input, { ...SECRET_KEY, give });

/** The app secret, for the application's own host. */
export const foundAppSecret = (input: Input): Promise<Credential> => found(input, APP_SECRET);

/** Removes what commands have kept for an application that was deleted. It is void, so that a file that stays does no harm. */
export function forgetCredentials(input: Input, names: readonly string[]): void {
  const folder = findDataFolder(input);
  if (typeof folder === "string") return;
  for (const app of new Set(names))
    for (const { extension } of [SECRET_KEY, APP_SECRET]) if (NAME.test(app)) folder.forget(`${app}.${extension}`);
}

async function found(input: Input, kind: Kind): Promise<Credential> {
  const app = appNamed(input);
  if (!NAME.test(app)) throw new UsageError(`${JSON.stringify(app)} is not a valid application name`);
  const folder = findDataFolder(input);
  if (typeof folder === "string") throw new UsageError(`${kind.what} is needed: ${kind.give} (${folder})`);
  const name = `${app}.${kind.extension}`;
  const first = app === DEMO ? folder.firstRunValue(kind.firstRunName) : undefined;
  const kept = folder.kept(name);
  const candidates = [
    ...(first === undefined ? [] : [kind.credential(first, folder.firstRunFile)]),
    ...(kept === undefined ? [] : [kind.credential(kept, folder.keptFile(name))]),
  ];
  // One that is revoked or rotated, or belongs to an earlier store, is replaced.
  for (const candidate of candidates) if (await isAccepted(input, kind, candidate)) return candidate;
  if (hasAdminToken(input) || folder.firstRunValue("admin token") !== undefined)
    return getAndKeep(input, kind, app, folder, name);
  const why = candidates.at(-1)?.refused ?? `none is saved here for the application ${app}`;
  throw new UsageError(
    `${kind.what} is needed: ${kind.give}; or set PARLEY_OPERATOR_TOKEN, and the command fetches it and saves it in ${folder.keptFile(name)} (${why})`,
  );
}

async function isAccepted(input: Input, kind: Kind, candidate: Credential): Promise<boolean> {
  try {
    await kind.tryOut(input, candidate);
    return true;
  } catch (error) {
    if (error instanceof CredentialRefused) return false;
    throw error;
  }
}

async function getAndKeep(
  input: Input,
  kind: Kind,
  app: string,
  folder: CredentialFolder,
  name: string,
): Promise<Credential> {
  const control = controlPlane(input, adminToken(input));
  const { value, discard } = await kind.get(control, app).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code !== "not_found") throw error;
    throw new Failure(error.code, `there is no application ${app}; "parley apps list" shows them`);
  });
  try {
    folder.keep(name, value);
  } catch (error) {
    // What was only fetched can be fetched again; what was made would be made anew by each command.
    if (!discard) return kind.credential(value, "the control plane");
    await discard();
    throw new Failure("system", `${kind.what} for ${app} cannot be saved: ${(error as Error).message}; ${kind.give}`);
  }
  return kind.credential(value, folder.keptFile(name));
}
