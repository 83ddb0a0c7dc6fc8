/**
 * The first start on an empty store makes an admin token and an application `demo`. Both are shown once, on the terminal and in
 * a file that only its owner can read; the store keeps only a digest of the admin token.
 *
 * The store is marked last, so that an interrupted first run is repeated.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Directory } from "../../access/keys/directory.ts";
import { newAdminToken } from "../../access/keys/ids.ts";
import { digestOf } from "../../access/keys/vault.ts";
import { writePrivateFile } from "../../base/private-file.ts";
import { ACTIONS } from "../../protocol/actions.ts";
import type { Snapshot, Store } from "../../store/contract/store.ts";

const ADMIN_TOKEN = "admin_token_digest";
const FIRST_RUN = "first_run";
/** Where a node listens if no setting says so. Absent in stores of earlier versions: on all addresses. */
const LISTEN = "listen";
const LOOPBACK_ONLY = "loopback";
export const DEMO = "demo";

export interface Demo {
  readonly publishableKey: string;
  readonly secretKey: string;
  readonly appSecret: string;
}

export interface FirstRun {
  /** Absent if PARLEY_ADMIN_TOKEN is set. */
  readonly adminToken?: string;
  readonly demo?: Demo;
  /** Lets other nodes start, which wait until the first run is complete. */
  readonly release: () => Promise<void>;
}

/** Returns undefined if this store has already had its first run. */
export async function firstRun(
  store: Store,
  directory: Directory,
  wants: { demo: boolean; adminToken: boolean },
): Promise<FirstRun | undefined> {
  if (await store.meta(FIRST_RUN)) return undefined;
  // If several nodes start on one empty store, one makes the first run; the others wait until it has, or has died.
  const release = await store.lock(FIRST_RUN);
  if (await store.meta(FIRST_RUN)) {
    await release();
    return undefined;
  }
  // Left by an interrupted first run: its keys were never shown.
  if ((await directory.apps()).some((app) => app.name === DEMO)) await directory.deleteApp(DEMO);
  return {
    release,
    ...(wants.adminToken && { adminToken: newAdminToken() }),
    ...(wants.demo && { demo: await makeDemo(directory) }),
  };
}

async function makeDemo(directory: Directory): Promise<Demo> {
  // Its messages are shown on the dashboard: they are made up.
  const { secret: appSecret } = await directory.createApp(DEMO, true);
  const all = { app: DEMO, channelPatterns: ["**"], actions: ACTIONS, turn: false };
  const publishable = await directory.createKey({
    ...all,
    type: "publishable",
    allowedOrigins: ["*"],
    label: "demo, browser",
  });
  const secret = await directory.createKey({ ...all, type: "secret", allowedOrigins: null, label: "demo, backend" });
  return { publishableKey: publishable.key.id, secretKey: `${secret.key.id}:${secret.secret}`, appSecret };
}

export async function finishFirstRun(store: Store, made: FirstRun): Promise<void> {
  await store.change(async (change) => {
    if (made.adminToken !== undefined) await change.putMeta(ADMIN_TOKEN, digestOf(made.adminToken));
    if (made.demo) await change.putMeta(LISTEN, LOOPBACK_ONLY);
    await change.putMeta(FIRST_RUN, "done");
  });
  await made.release();
}

/** Whether the store has an admin token. One that is a setting is not in it. */
export const hasAdminToken = async (store: Store): Promise<boolean> => (await store.meta(ADMIN_TOKEN)) !== undefined;

/** Replaces a lost admin token; returns the new one in clear. */
export async function resetAdminToken(store: Store): Promise<string> {
  const token = newAdminToken();
  await store.change((change) => change.putMeta(ADMIN_TOKEN, digestOf(token)));
  return token;
}

export const adminTokenDigest = ({ meta }: Snapshot): string | undefined => meta.get(ADMIN_TOKEN);

export const LOOPBACK = "127.0.0.1";

/**
 * The address to listen on if no setting names one. The demo's keys are on disk in clear and permit everything, so a store with
 * a demo listens on loopback only. That is stored permanently, so that deleting the demo does not open a port to the network.
 */
export const defaultHost = ({ meta }: Snapshot, made: FirstRun | undefined): string =>
  made?.demo || meta.get(LISTEN) === LOOPBACK_ONLY ? LOOPBACK : "0.0.0.0";

export const hadFirstRun = async (store: Store): Promise<boolean> => (await store.meta(FIRST_RUN)) !== undefined;

export const firstRunFile = (dataFolder: string): string => join(dataFolder, "first-run.txt");

export function writeFirstRunFile(dataFolder: string, text: string): void {
  // With PostgreSQL, nothing has made the data folder yet.
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  writePrivateFile(firstRunFile(dataFolder), text, { flush: true });
}

/** False with PARLEY_ADMIN_TOKEN and without a demo. */
export const hasSomethingToShow = (made: FirstRun): boolean => made.adminToken !== undefined || made.demo !== undefined;

export function firstRunText(url: string, made: FirstRun): string {
  const lines = ["", "  Created by this first start and shown only once. Save what you need:"];
  if (made.demo) {
    lines.push("    application      demo");
    lines.push(`    publishable key  ${made.demo.publishableKey}`);
    lines.push(`    secret key       ${made.demo.secretKey}`);
    lines.push(`    app secret       ${made.demo.appSecret}`);
  }
  if (made.adminToken) lines.push(`    admin token      ${made.adminToken}`);
  lines.push("", "  Try:", `    open ${url}/`);
  if (made.demo) {
    lines.push(`    curl ${url}/v1/tokens -H 'Authorization: Bearer ${made.demo.secretKey}' -d '{"peerId":"alice"}'`);
  }
  if (made.adminToken) {
    lines.push(`    curl ${url}/api/internal/v1/apps -H 'Authorization: Bearer ${made.adminToken}'`);
  }
  lines.push("", "");
  return lines.join("\n");
}
