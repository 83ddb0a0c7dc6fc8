/** What `parley doctor` can find out about a service: from its control plane, and from where its clients are. */
import { isLoopback, parseAddress } from "../access/address.ts";
import type { NodeFacts } from "../node/facts.ts";
import { isObject } from "../protocol/json.ts";
import { controlPlane, type Server } from "./client.ts";
import { adminToken } from "./credentials.ts";
import { Failure, UsageError } from "./errors.ts";
import type { Given } from "./given.ts";

/** Of an address that was asked without a credential; undefined: it did not answer. */
export type Status = number | undefined;

export interface OpenKey {
  readonly keyId: string;
  readonly app: string;
}

export interface Evidence {
  /** Where clients reach the service. */
  readonly publicUrl: URL;
  /** The service sees us as another machine: only then does it show what strangers get. */
  readonly isOutside: boolean;
  /** undefined: the server is older than this question. */
  readonly facts: NodeFacts | undefined;
  readonly hasDemo: boolean;
  /** Publishable keys that pages of every origin may use. */
  readonly openKeys: readonly OpenKey[];
  readonly adminTokenChars: number;
  readonly ready: { readonly status: Status; readonly wrong: readonly string[] };
  readonly metrics: Status;
  readonly control: Status;
}

const ANSWER_WITHIN_MS = 5000;

export async function gather(given: Given): Promise<Evidence> {
  const server = controlPlane(given);
  const publicUrl = publicUrlOf(given);
  const { value: token } = adminToken(given);
  // First what needs the token: where that is wrong, nothing else is worth a question.
  const { data: apps } = await server.get<{ data: { _id: string; name: string }[] }>("/apps");
  const [facts, openKeys, ready, metrics, control] = await Promise.all([
    nodeFacts(server),
    openKeysOf(server, apps),
    readiness(publicUrl),
    statusOf(publicUrl, "/metrics"),
    statusOf(publicUrl, "/api/internal/v1/apps"),
  ]);
  return {
    publicUrl,
    isOutside: !isOwnMachine(publicUrl.hostname),
    facts,
    hasDemo: apps.some(({ name }) => name === "demo"),
    openKeys,
    adminTokenChars: token.length,
    ready,
    metrics,
    control,
  };
}

/** Where clients are sent; the server's own setting may hold several, of which the first will do. */
function publicUrlOf(given: Given): URL {
  const text =
    given.text("public-url") ?? (given.env.PARLEY_PUBLIC_URL?.split(",")[0]?.trim() || controlPlane(given).origin);
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

async function readiness(base: URL): Promise<Evidence["ready"]> {
  const response = await ask(base, "/readyz");
  const answer: unknown = await response?.json().catch(() => undefined);
  const checks = isObject(answer) && isObject(answer.checks) ? Object.entries(answer.checks) : [];
  return {
    status: response?.status,
    wrong: checks.filter(([, result]) => result !== "ok").map(([name, result]) => `${name}: ${String(result)}`),
  };
}

const statusOf = async (base: URL, path: string): Promise<Status> => (await ask(base, path))?.status;

/** As a stranger would. */
async function ask(base: URL, path: string): Promise<Response | undefined> {
  try {
    return await fetch(new URL(path, base), { redirect: "manual", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  } catch {
    return undefined;
  }
}

function isOwnMachine(hostname: string): boolean {
  const address = parseAddress(hostname);
  return address ? isLoopback(address) : hostname === "localhost";
}
