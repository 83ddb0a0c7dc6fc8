/** One node: opens its store, builds its parts, starts them, and stops them. */
import { ConfigError, type Loaded } from "../config/load.ts";
import { loadBundle } from "../http/pages/bundle.ts";
import { type PageServer, Pages } from "../http/pages/pages.ts";
import { TlsError } from "../http/server/listener.ts";
import { noteVersion } from "../store/identity.ts";
import type { Log } from "../telemetry/log.ts";
import { VERSION } from "../version.ts";
import { buildNode } from "./build.ts";
import { drainNode } from "./drain.ts";
import { checkBackupSettings } from "./parts/backups.ts";
import { type FirstRun, finishFirstRun } from "./parts/first-run.ts";
import { checkStorageSettings } from "./parts/recordings.ts";
import { openStores } from "./parts/stores.ts";
import type { Team } from "./parts/team.ts";
import { startParts } from "./start.ts";

export interface Node {
  readonly url: string;
  /** The address it listens on. */
  readonly host: string;
  /** Where operators find the control plane and the dashboard. */
  readonly adminUrl: string;
  readonly port: number;
  readonly adminPort: number;
  /** What the first start made, in clear. Show it to the operator, then call `shown`. */
  readonly firstRun: FirstRun | undefined;
  /** Notes in the store that the first run is complete, and keeps of its admin token only the digest. */
  shown(): Promise<void>;
  reloadTls(): void;
  /** `drainMs`: for each of the two phases of a drain; PARLEY_DRAIN_SECONDS by default. */
  stop(drainMs?: number): Promise<void>;
}

export type LoadPages = () => Promise<PageServer>;

export interface NodeOptions {
  /** For development, other pages than those of the last build. */
  readonly loadPages?: LoadPages | undefined;
  /** The workers of this machine, if this node is one of several. */
  readonly team?: Team | undefined;
}

const builtPages: LoadPages = async () => new Pages(await loadBundle(), VERSION);

export async function startNode(
  { config, sources }: Pick<Loaded, "config" | "sources">,
  nodeId: string,
  log: Log,
  { loadPages = builtPages, team }: NodeOptions = {},
): Promise<Node> {
  if (config.databaseUrl !== "" && config.masterKey === "")
    throw new ConfigError(
      "PARLEY_MASTER_KEY is required with PARLEY_DATABASE_URL, the same on every node (make one: openssl rand -base64 32)",
    );
  checkStorageSettings(config);
  checkBackupSettings(config);
  const { store, history, holdStill } = await openStores(config, log, team);
  try {
    await noteVersion(store, VERSION);
    const parts = await buildNode({ config, sources, nodeId, log, store, history, holdStill, loadPages, team });
    const node = await startParts(parts);
    const { access, listeners } = node;
    return {
      url: listeners.url,
      host: access.host,
      adminUrl: listeners.adminUrl,
      port: listeners.port,
      adminPort: listeners.adminPort,
      firstRun: access.firstRun,
      shown: async () => {
        if (access.firstRun) await finishFirstRun(store, access.firstRun);
      },
      reloadTls: () => listeners.reloadTls(),
      stop: (drainMs) => drainNode(node, drainMs),
    };
  } catch (error) {
    await history.close();
    await store.close();
    throw error instanceof TlsError ? new ConfigError(`PARLEY_TLS_CERT, PARLEY_TLS_KEY: ${error.message}`) : error;
  }
}
