/** How a node is set up, for `parley doctor`: from its settings and its process. */
import { existsSync, readFileSync } from "node:fs";
import { isLoopback, parseAddress } from "../../base/address.ts";
import type { Config } from "../../config/settings.ts";
import { parseNatsUrl } from "../../engine/transport/nats-address.ts";
import type { NodeFacts } from "../../http/control/facts.ts";
import { VERSION } from "../../version.ts";
import { firstRunFile } from "../parts/first-run.ts";

export type { NodeFacts } from "../../http/control/facts.ts";

interface FactParts {
  readonly config: Config;
  readonly nodeId: string;
  readonly host: string;
  readonly sealedKeys: () => number;
}

export function factsOf({ config, nodeId, host, sealedKeys }: FactParts): () => NodeFacts {
  const limit = openFilesLimit();
  const fixed = {
    nodeId,
    version: VERSION,
    host,
    hasTls: config.tlsCert !== "",
    hasAdminListener: config.adminListen !== "",
    publicUrls: [...config.publicUrl],
    trustedProxies: config.trustedProxies.length,
    openFilesLimit: Number.isFinite(limit) ? limit : null,
    isRoot: process.getuid?.() === 0,
    database: config.databaseUrl === "" ? null : databaseAddress(config.databaseUrl),
    nats: config.natsUrl === "" ? null : natsAddress(config.natsUrl),
    storage: storageOf(config.storageUrl, process.env),
    turnUrls: [...config.turnUrls],
    masterKey: config.masterKey === "" ? "file" : "setting",
    adminToken: config.adminToken === "" ? "store" : "setting",
    drainSeconds: config.drainSeconds,
    connectsPerMinutePerIp: config.connectsPerMinutePerIp,
    httpRequestsPerMinutePerIp: config.httpRequestsPerMinutePerIp,
    framesPerSecond: config.framesPerSecond,
    restRequestsPerSecond: config.restRequestsPerSecond,
  } satisfies Omit<NodeFacts, "hasFirstRunFile" | "sealedKeys">;
  return () => ({ ...fixed, hasFirstRunFile: existsSync(firstRunFile(config.data)), sealedKeys: sealedKeys() });
}

type ServerAddress = NonNullable<NodeFacts["database"]>;

/** libpq's modes `prefer` and weaker count as off: they connect without TLS if the server offers none. */
const POSTGRES_TLS: Readonly<Record<string, ServerAddress["tls"]>> = {
  require: "unverified",
  "verify-ca": "verified",
  "verify-full": "verified",
};

export function databaseAddress(text: string): ServerAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return {
    isLocal: isOwnMachine(url?.hostname ?? ""),
    tls: POSTGRES_TLS[url?.searchParams.get("sslmode") ?? ""] ?? "off",
    hasCredentials: (url?.password ?? "") !== "",
  };
}

export function natsAddress(text: string): ServerAddress {
  const { servers, tls, user, token } = parseNatsUrl(text);
  return {
    isLocal: servers.every((server) => isOwnMachine(server.replace(/:\d+$/, ""))),
    tls: tls ? "verified" : "off",
    hasCredentials: user !== undefined || token !== undefined,
  };
}

/** PostgreSQL or NATS share this machine's cores with the service. */
export const hasLocalServers = ({ databaseUrl, natsUrl }: Pick<Config, "databaseUrl" | "natsUrl">): boolean =>
  (databaseUrl !== "" && databaseAddress(databaseUrl).isLocal) || (natsUrl !== "" && natsAddress(natsUrl).isLocal);

export function storageOf(url: string, env: Readonly<Record<string, string | undefined>>): NodeFacts["storage"] {
  if (url === "") return { kind: "folder", isEncrypted: true };
  const endpoint = (URL.canParse(url) && new URL(url).searchParams.get("endpoint")) || env.AWS_ENDPOINT_URL_S3;
  return { kind: "s3", isEncrypted: !endpoint?.startsWith("http:") };
}

function isOwnMachine(host: string): boolean {
  const address = parseAddress(host);
  // An empty host means a Unix socket.
  return address ? isLoopback(address) : host === "localhost" || host === "";
}

/** Each connection is an open file, so this also limits connections. */
export function openFilesLimit(): number {
  try {
    return Number(
      /Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Number.POSITIVE_INFINITY,
    );
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
