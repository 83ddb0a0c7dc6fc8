/** Builds access control: keys, applications, the admin token, operators, the audit. On an empty store, creates the demo and the admin token. */
import { Directory } from "../../access/keys/directory.ts";
import { Keyring } from "../../access/keys/keyring.ts";
import { makeMasterKey, masterKeyFile, readMasterKey, Vault } from "../../access/keys/vault.ts";
import type { Withdrawn } from "../../access/keys/withdrawn.ts";
import { AuditTrail } from "../../access/operators/audit-trail.ts";
import { Operators } from "../../access/operators/operators.ts";
import { systemClock as clock } from "../../base/clock.ts";
import type { AppId } from "../../base/ids.ts";
import { asCalled } from "../../config/program.ts";
import type { Config } from "../../config/settings.ts";
import { type Snapshot, type Store, StoreError } from "../../store/contract/store.ts";
import type { Log } from "../../telemetry/log.ts";
import { WebhookBook } from "../../webhooks/endpoints/book.ts";
import { AdminToken, refuseAppSecret } from "./admin-token.ts";
import type { NodeContext } from "./context.ts";
import { DEMO, defaultHost, type FirstRun, firstRun } from "./first-run.ts";

/** Who made the demo, in the audit. */
const FIRST_START = "first start";

export interface Access {
  readonly vault: Vault;
  readonly keyring: Keyring;
  readonly directory: Directory;
  readonly operators: Operators;
  readonly auditTrail: AuditTrail;
  /** Follows the same snapshots as the keys. */
  readonly webhookBook: WebhookBook;
  /** Present if this start made it. */
  readonly firstRun: FirstRun | undefined;
  /** The address to listen on. */
  readonly host: string;
  /** To be called with each snapshot of the store, after the keyring has loaded it. */
  readonly snapshotLoaded: (snapshot: Snapshot) => void;
  /** To be called with what another node has taken away, after the keyring, before the store is read. */
  readonly withdrawn: (one: Withdrawn) => void;
}

export async function buildAccess({ config, log, store, metrics }: NodeContext): Promise<Access> {
  const vault = new Vault(await masterKey(config, store));
  const keyring = new Keyring(vault);
  const before = await store.snapshot();
  refuseAppSecret(config.adminToken, before);
  keyring.load(before);
  const directory = new Directory(store, keyring, vault, clock.wallMs);
  const made = await firstRun(store, directory, { demo: config.demo, adminToken: config.adminToken === "" });
  const adminToken = new AdminToken(config.adminToken, made?.adminToken);
  const operators = new Operators({
    store,
    keyring,
    vault,
    nowMs: clock.wallMs,
    failed: (err) => log.warn({ err }, "the time of an operator's last call could not be written"),
  });
  const webhookBook = new WebhookBook(vault);
  keyring.onDeletion((app) => webhookBook.removeApp(app));
  const warnOfSealed = sealedWarner(keyring, webhookBook, log);
  const snapshotLoaded = (snapshot: Snapshot): void => {
    adminToken.update(snapshot);
    operators.load(snapshot, adminToken.digest);
    webhookBook.load(snapshot);
    warnOfSealed();
  };
  // Read a second time: another node may have made the first run while this one waited for that.
  const snapshot = await store.snapshot();
  keyring.load(snapshot);
  snapshotLoaded(snapshot);
  if (!adminToken.exists)
    log.warn(asCalled("there is no admin token: set PARLEY_ADMIN_TOKEN, or stop and run `parley admin reset-token`"));
  metrics.gauge("parley_keys", "Live keys.", () => keyring.size);
  metrics.gauge("parley_webhooks", "Endpoints of webhooks, with the URLs of rooms.", () => webhookBook.size);
  metrics.gauge("parley_dashboard_sessions", "Sessions of the dashboard.", () => operators.sessionCount);
  metrics.gauge("parley_store_revision", "Revision of keys and applications.", () => keyring.revision);
  const host = config.host || defaultHost(snapshot, made);
  const auditTrail = buildAuditTrail({ log, store });
  if (made?.demo) await auditDemo(auditTrail, directory, keyring.appNamed(DEMO)?.id);
  const withdrawn = (one: Withdrawn): void => operators.withdraw(one);
  return {
    vault,
    keyring,
    directory,
    operators,
    auditTrail,
    webhookBook,
    firstRun: made,
    host,
    snapshotLoaded,
    withdrawn,
  };
}

async function auditDemo(auditTrail: AuditTrail, directory: Directory, app: AppId | undefined): Promise<void> {
  await auditTrail.record({ who: FIRST_START, what: "app created", on: DEMO, app });
  const keys = await directory.keysPage(10, DEMO);
  for (const { id, type, label, channelPatterns, actions, allowedOrigins, turn } of keys) {
    const after = { type, label, channelPatterns, actions, allowedOrigins, turn };
    await auditTrail.record({ who: FIRST_START, what: "key created", on: id, app, after });
  }
}

const buildAuditTrail = ({ log, store }: Pick<NodeContext, "log" | "store">): AuditTrail =>
  new AuditTrail({
    store,
    nowMs: clock.wallMs,
    retentionMs: clock.retentionMs,
    failed: (err) =>
      log.error({ err }, "the audit log could not be written or cleared; the service log has the changes"),
    dropped: (count) => log.warn({ count }, "applications made more changes than the audit log can record"),
  });

async function masterKey(config: Config, store: Store): Promise<Buffer> {
  if (config.masterKey !== "") return Buffer.from(config.masterKey, "base64");
  const present = readMasterKey(config.data);
  if (present) return present;
  if ((await store.apps()).length > 0) {
    throw new StoreError(
      `the store holds encrypted secrets, but their master key is missing: restore ${masterKeyFile(config.data)}, or set PARLEY_MASTER_KEY`,
    );
  }
  return makeMasterKey(config.data);
}

/** Logs keys and webhooks that the master key does not open: at the start, and whenever there are further ones. */
function sealedWarner(keyring: Keyring, webhooks: WebhookBook, log: Log): () => void {
  let known: ReadonlySet<string> = new Set();
  return () => {
    const { sealed: keys } = keyring;
    const { sealed: endpoints } = webhooks;
    const sealed = new Set([...keys, ...endpoints]);
    if (!sealed.isSubsetOf(known)) {
      log.error(
        { keys, ...(endpoints.length > 0 && { webhooks: endpoints }) },
        "the master key cannot decrypt the secrets of these: keys answer 503 and webhooks send nothing until you correct it (PARLEY_MASTER_KEY, or master.key in the data folder)",
      );
    }
    known = sealed;
  };
}
