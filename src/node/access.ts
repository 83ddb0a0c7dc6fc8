/** Builds access control: keys, applications, the admin token. On an empty store, creates the demo and the admin token. */
import { Directory } from "../access/directory.ts";
import { Keyring } from "../access/keyring.ts";
import { makeMasterKey, masterKeyFile, readMasterKey, Vault } from "../access/vault.ts";
import type { Config } from "../config/settings.ts";
import { systemClock as clock } from "../realtime/clock.ts";
import { type Snapshot, type Store, StoreError } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import { AdminToken } from "./admin-token.ts";
import type { NodeContext } from "./context.ts";
import { defaultHost, type FirstRun, firstRun } from "./first-run.ts";

export interface Access {
  readonly vault: Vault;
  readonly keyring: Keyring;
  readonly directory: Directory;
  readonly adminToken: AdminToken;
  /** Present if this start made it. */
  readonly firstRun: FirstRun | undefined;
  /** The address to listen on. */
  readonly host: string;
  /** To be called with each snapshot of the store, after the keyring has loaded it. */
  readonly snapshotLoaded: (snapshot: Snapshot) => void;
}

export async function buildAccess({ config, log, store, metrics }: NodeContext): Promise<Access> {
  const vault = new Vault(await masterKey(config, store));
  const keyring = new Keyring(vault);
  keyring.load(await store.snapshot());
  const directory = new Directory(store, keyring, vault, clock.nowMs);
  const made = await firstRun(store, directory, { demo: config.demo, adminToken: config.adminToken === "" });
  const adminToken = new AdminToken(config.adminToken, made?.adminToken);
  const warnOfSealedKeys = sealedKeysWarner(keyring, log);
  const snapshotLoaded = (snapshot: Snapshot): void => {
    adminToken.update(snapshot);
    warnOfSealedKeys();
  };
  // Read a second time: another node may have made the first run while this one waited for that.
  const snapshot = await store.snapshot();
  keyring.load(snapshot);
  snapshotLoaded(snapshot);
  if (!adminToken.exists)
    log.warn("there is no admin token: set PARLEY_ADMIN_TOKEN, or stop and run `parley admin reset-token`");
  metrics.gauge("parley_keys", "Live keys.", () => keyring.size);
  metrics.gauge("parley_store_revision", "Revision of keys and applications.", () => keyring.revision);
  const host = config.host || defaultHost(snapshot, made);
  return { vault, keyring, directory, adminToken, firstRun: made, host, snapshotLoaded };
}

async function masterKey(config: Config, store: Store): Promise<Buffer> {
  if (config.masterKey !== "") return Buffer.from(config.masterKey, "base64");
  const present = readMasterKey(config.data);
  if (present) return present;
  if ((await store.apps()).length > 0) {
    throw new StoreError(
      `the store holds encrypted secrets, but their master key is missing: put ${masterKeyFile(config.data)} back, or set PARLEY_MASTER_KEY`,
    );
  }
  return makeMasterKey(config.data);
}

/** Logs keys that the master key does not open: at the start, and whenever there are further ones. */
function sealedKeysWarner(keyring: Keyring, log: Log): () => void {
  let known: ReadonlySet<string> = new Set();
  return () => {
    const sealed = new Set(keyring.sealed);
    if (!sealed.isSubsetOf(known)) {
      log.error(
        { keys: [...sealed] },
        "the master key does not open the secrets of these keys: they answer 503 until it is corrected (PARLEY_MASTER_KEY, or master.key in the data folder)",
      );
    }
    known = sealed;
  };
}
