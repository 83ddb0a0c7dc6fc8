/** Collects what `parley doctor` knows about a service, from its control plane and from its public address. */
import { isLoopback, parseAddress } from "../../../base/address.ts";
import type { NodeFacts } from "../../../node/status/facts.ts";
import { isObject } from "../../../protocol/json.ts";
import { serverUrl, trustIn } from "../../calls/address.ts";
import { controlPlane, type Server } from "../../calls/client.ts";
import { adminToken } from "../../calls/credentials.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { type BackupEvidence, backupEvidence } from "./backups.ts";
import type { DirectEvidence } from "./direct.ts";
import type { LiveEvidence } from "./live.ts";
import { silentTurnServers } from "./turn.ts";

/** The status of a request without a credential; undefined if there was no response. */
export type Status = number | undefined;

export interface OpenKey {
  readonly keyId: string;
  readonly app: string;
}

export interface Evidence extends LiveEvidence {
  /** The address that clients use. */
  readonly publicUrl: URL;
  /** We reach the service as another machine: only then do we see what unauthenticated clients get. */
  readonly isOutside: boolean;
  /** undefined if the server is too old to report it. */
  readonly facts: NodeFacts | undefined;
  /** undefined: the server could not check this, because its store is unreachable. */
  readonly hasDemo: boolean | undefined;
  /** Publishable keys that allow every origin; undefined: as above. */
  readonly openKeys: readonly OpenKey[] | undefined;
  /** undefined: the server is of an earlier version, or could not answer. */
  readonly backups: BackupEvidence | undefined;
  /** undefined: doctor was run with the token of an operator. */
  readonly adminTokenChars: number | undefined;
  readonly ready: { readonly status: Status; readonly wrong: readonly string[] };
  readonly metrics: Status;
  readonly control: Status;
  /** The TURN and STUN servers of the service that do not answer from here. */
  readonly silentTurn: readonly string[];
  /** How far the node's clock is ahead of this machine's, in seconds; undefined: it did not say its time. */
  readonly clockAheadSeconds: number | undefined;
}

const RESPONSE_TIMEOUT_MS = 5000;

export async function gatherEvidence(input: Input, direct: DirectEvidence): Promise<Evidence> {
  const server = controlPlane(input);
  const publicUrl = publicUrlOf(input);
  const { value: token } = adminToken(input);
  // The request that needs the token comes first: if the token is wrong, the others are useless.
  const apps = await unlessBroken(server.getAll<{ _id: string; name: string }>("/apps").then(({ data }) => data));
  const [facts, backups, openKeys, own, ready, metrics, control] = await Promise.all([
    unlessBroken(nodeFacts(server)),
    unlessBroken(backupEvidence(server)),
    apps && unlessBroken(openKeysOf(server, apps)),
    readiness(input, new URL(server.origin)),
    readiness(input, publicUrl),
    statusOf(input, publicUrl, "/metrics"),
    statusOf(input, publicUrl, "/api/internal/v1/apps"),
  ]);
  return {
    publicUrl,
    isOutside: !isOwnMachine(publicUrl.hostname),
    facts,
    hasDemo: apps?.some(({ name }) => name === "demo"),
    openKeys,
    backups,
    adminTokenChars: token.startsWith("op_") ? undefined : token.length,
    health: own.status === undefined ? undefined : own.checks,
    direct,
    ready: { status: ready.status, wrong: wrongIn(ready.checks) },
    metrics,
    control,
    silentTurn: await silentTurnServers(facts?.turnUrls ?? []),
    clockAheadSeconds: own.clockAheadSeconds,
  };
}

/** What an unreachable store keeps the control plane from answering; the line about the database reports that. */
const BROKEN = ["internal_error", "backend_error"];

async function unlessBroken<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Failure && BROKEN.includes(error.code)) return undefined;
    throw error;
  }
}

/** The address that clients use; the setting may have several, of which the first is used. */
function publicUrlOf(input: Input): URL {
  const text =
    input.text("public-url") ??
    (input.env.PARLEY_PUBLIC_URL?.split(",")[0]?.trim() || new URL(serverUrl(input)).origin);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol))
    throw new UsageError("--public-url must be an address such as https://realtime.example.com");
  return url;
}

async function nodeFacts(server: Server): Promise<NodeFacts | undefined> {
  try {
    return await server.get<NodeFacts>("/node");
  } catch (error) {
    if (error instanceof Failure && error.code === "not_found") return undefined;
    throw error;
  }
}

async function openKeysOf(server: Server, apps: readonly { _id: string; name: string }[]): Promise<OpenKey[]> {
  const { data } = await server.get<{
    data: { keyId: string; app: string; allowedOrigins?: string[]; revoked: number | null }[];
  }>("/signalling/keys");
  return data
    .filter(({ revoked, allowedOrigins }) => revoked === null && allowedOrigins?.includes("*"))
    .map(({ keyId, app }) => ({ keyId, app: apps.find(({ _id }) => _id === app)?.name ?? app }));
}

interface Readiness {
  readonly status: Status;
  readonly clockAheadSeconds: number | undefined;
  readonly checks: Readonly<Record<string, string>>;
}

async function readiness(input: Input, base: URL): Promise<Readiness> {
  const response = await getWithoutCredential(input, base, "/readyz");
  const body: unknown = await response?.json().catch(() => undefined);
  const checks = isObject(body) && isObject(body.checks) ? Object.entries(body.checks) : [];
  const time = Date.parse(response?.headers.get("date") ?? "");
  return {
    status: response?.status,
    clockAheadSeconds: Number.isNaN(time) ? undefined : Math.round((time - Date.now()) / 1000),
    checks: Object.fromEntries(checks.map(([name, result]) => [name, String(result)])),
  };
}

const wrongIn = (checks: Readiness["checks"]): string[] =>
  Object.entries(checks).flatMap(([name, result]) => (result === "ok" ? [] : [`${name}: ${result}`]));

const statusOf = async (input: Input, base: URL, path: string): Promise<Status> =>
  (await getWithoutCredential(input, base, path))?.status;

async function getWithoutCredential(input: Input, base: URL, path: string): Promise<Response | undefined> {
  try {
    return await fetch(new URL(path, base), {
      redirect: "manual",
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      ...trustIn(input, base.href),
    });
  } catch {
    return undefined;
  }
}

function isOwnMachine(hostname: string): boolean {
  const address = parseAddress(hostname);
  return address ? isLoopback(address) : hostname === "localhost";
}
