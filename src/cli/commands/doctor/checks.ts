/** The checklist of docs/production.md as pure functions: evidence in, findings out. */
import type { NodeFacts } from "../../../node/status/facts.ts";
import { LOW_OPEN_FILES } from "../../line/defaults.ts";
import { backupOutcome } from "./backups.ts";
import type { DirectEvidence } from "./direct.ts";
import type { Evidence } from "./evidence.ts";
import { attention, type Finding, type Outcome, ok, serious, unchecked } from "./findings.ts";
import { liveOnly, liveOutcome, withLive } from "./live.ts";

/** The time in a response is in whole seconds, and the response takes a while. */
const CLOCK_TOLERANCE_SECONDS = 3;
const GOOD_OPEN_FILES = 65_536;
const LONG_TOKEN_CHARS = 32;
const NAMED_KEYS_MAX = 5;
const UNAUTHORIZED = [401, 403, 404, 421, 429];

/** The control plane reads the store for this. */
const NOT_ANSWERED = unchecked("the server could not check this", "run doctor again once its store is reachable");
const fromPublicUrl = "run doctor from another machine, with --public-url https://your.address";

function readiness({ ready, publicUrl }: Evidence): Outcome {
  if (ready.status === 200 && ready.wrong.length > 0)
    return attention(`/readyz answers 200, but reports: ${ready.wrong.join("; ")}`, "fix what it reports");
  if (ready.status === 200) return ok(`${publicUrl.origin}/readyz answers 200`);
  if (ready.status === undefined)
    return unchecked(
      `${publicUrl.origin}/readyz does not answer`,
      "pass the address that clients use with --public-url",
    );
  return serious(
    `/readyz answers ${ready.status}: ${ready.wrong.join("; ") || "no reason given"}`,
    "fix the listed checks",
  );
}

function encryption({ publicUrl, isOutside }: Evidence, { hasTls, host, trustedProxies }: NodeFacts): Outcome {
  if (publicUrl.protocol === "https:") return ok(`clients connect over TLS: ${publicUrl.origin}`);
  if (hasTls) return ok("the node serves https and wss directly");
  const todo = "set PARLEY_TLS_CERT and PARLEY_TLS_KEY, or put a proxy with TLS in front (deploy/nginx, deploy/caddy)";
  if (isOutside)
    return serious(`${publicUrl.origin} is not encrypted: tokens and messages can be read in transit`, todo);
  if (isLoopback(host) || trustedProxies > 0)
    return unchecked("this address is not encrypted; a proxy in front of it may be", fromPublicUrl);
  return serious(`the node listens on ${host} without TLS`, todo);
}

function proxies({ publicUrl }: Evidence, { hasTls, trustedProxies }: NodeFacts): Outcome {
  if (trustedProxies > 0)
    return ok("PARLEY_TRUSTED_PROXIES is set; it must contain only the addresses of your proxies");
  // If the node does not use TLS itself, a proxy in front of it terminates TLS.
  if (publicUrl.protocol === "https:" && !hasTls)
    return serious(
      "there is a proxy, but PARLEY_TRUSTED_PROXIES is not set: all clients share the proxy's address and its rate limits",
      "set PARLEY_TRUSTED_PROXIES to the addresses of the proxy",
    );
  return unchecked("no proxy is trusted", "behind a proxy, set PARLEY_TRUSTED_PROXIES to its addresses");
}

function publicAddress({ publicUrl, isOutside }: Evidence, { publicUrls }: NodeFacts): Outcome {
  const isNamed = publicUrls.some((url) => new URL(url).host === publicUrl.host);
  if (isNamed) return ok(`PARLEY_PUBLIC_URL names ${publicUrl.host}`);
  const todo = "set PARLEY_PUBLIC_URL to the addresses of the service, such as https://realtime.example.com";
  if (isOutside) return attention(`PARLEY_PUBLIC_URL does not include ${publicUrl.host}`, todo);
  return publicUrls.length > 0
    ? ok(`PARLEY_PUBLIC_URL names ${publicUrls.length === 1 ? "one address" : `${publicUrls.length} addresses`}`)
    : unchecked("PARLEY_PUBLIC_URL is not set", todo);
}

function controlPlane({ control, isOutside }: Evidence, { hasAdminListener }: NodeFacts): Outcome {
  if (hasAdminListener)
    return ok("the dashboard, control plane and metrics have a separate address (PARLEY_ADMIN_LISTEN)");
  const todo = "PARLEY_ADMIN_LISTEN=127.0.0.1:9090 moves it to a separate address";
  if (isOutside && control === 404) return ok("the control plane is not on the public address");
  return attention("the control plane is on the address that clients use, protected only by tokens", todo);
}

function adminToken({ adminTokenChars }: Evidence): Outcome {
  if (adminTokenChars === undefined)
    return unchecked("doctor was run with an operator's token", "run it with the admin token to check its length");
  if (adminTokenChars >= LONG_TOKEN_CHARS) return ok(`it has ${adminTokenChars} characters`);
  return attention(
    `it has only ${adminTokenChars} characters`,
    "set a longer PARLEY_ADMIN_TOKEN: openssl rand -hex 32",
  );
}

function metrics({ metrics, isOutside }: Evidence): Outcome {
  const todo = "block /metrics in the proxy, or move it with PARLEY_ADMIN_LISTEN";
  if (!isOutside)
    return unchecked(
      "/metrics answers this machine without a token, as it should, and also a proxy on this machine that does not set X-Forwarded-For",
      fromPublicUrl,
    );
  if (metrics === 200) return serious("/metrics answers clients without a credential", todo);
  if (metrics !== undefined && UNAUTHORIZED.includes(metrics))
    return ok(`/metrics answers clients without a credential with ${metrics}`);
  return unchecked(`/metrics answers ${metrics ?? "nothing"}`, "pass the address that clients use with --public-url");
}

function demo({ hasDemo, isOutside }: Evidence, { host }: NodeFacts): Outcome {
  if (hasDemo === undefined) return NOT_ANSWERED;
  if (!hasDemo) return ok("the application demo does not exist");
  const todo = 'delete it: "parley apps delete demo"';
  const found = "the application demo exists, with keys that can do everything";
  return isOutside || !isLoopback(host) ? serious(found, todo) : attention(found, todo);
}

function openKeys({ openKeys }: Evidence): Outcome {
  if (!openKeys) return NOT_ANSWERED;
  const others = openKeys.filter(({ app }) => app !== "demo");
  if (others.length === 0) return ok("no publishable key allows every origin (except that of the demo, if it exists)");
  const named = others.slice(0, NAMED_KEYS_MAX).map(({ keyId, app }) => `${keyId} of ${app}`);
  const more = others.length > NAMED_KEYS_MAX ? ` and ${others.length - NAMED_KEYS_MAX} more` : "";
  return attention(
    `pages from any origin can use ${named.join(", ")}${more}`,
    `allow only yours: "parley keys edit KEY --origins 'https://your.page'"`,
  );
}

function firstRunFile(_: Evidence, { hasFirstRunFile }: NodeFacts): Outcome {
  if (!hasFirstRunFile) return ok("first-run.txt is deleted");
  return attention(
    "first-run.txt, with keys in clear text, is still in the data folder",
    "delete it once you have saved its keys",
  );
}

function masterKey(_: Evidence, { masterKey, sealedKeys }: NodeFacts): Outcome {
  if (sealedKeys > 0)
    return serious(
      `it cannot decrypt ${sealedKeys} keys: they answer 503`,
      "restore the master key that they were created with",
    );
  const where = masterKey === "file" ? "master.key in the data folder" : "PARLEY_MASTER_KEY";
  return unchecked(`it decrypts every key, and is in ${where}`, "keep a copy of it, separate from the backups");
}

function database(_: Evidence, { database }: NodeFacts): Outcome {
  if (!database) return ok("SQLite in the data folder");
  if (database.isLocal) return ok("PostgreSQL on the node's own machine");
  const todo = "PARLEY_DATABASE_URL=postgres://user:password@host/database?sslmode=verify-full";
  if (!database.hasCredentials)
    return attention("PostgreSQL over the network, with no password in PARLEY_DATABASE_URL", todo);
  if (database.tls === "verified") return ok("PostgreSQL, with TLS and a verified certificate");
  return attention(`PostgreSQL over the network, TLS ${database.tls === "off" ? "off" : "unverified"}`, todo);
}

function nats(_: Evidence, { nats }: NodeFacts): Outcome {
  if (!nats) return ok("one node, no NATS");
  if (nats.isLocal) return ok("NATS on the node's own machine");
  const todo = "PARLEY_NATS_URL=tls://user:password@host:4222, and authorization in NATS";
  if (!nats.hasCredentials)
    return serious(
      "NATS over the network without credentials: anyone who can reach it can read and forge messages",
      todo,
    );
  return nats.tls === "off" ? attention("NATS over the network, TLS off", todo) : ok("NATS, with credentials and TLS");
}

function recordings({ backups }: Evidence, { storage }: NodeFacts): Outcome {
  if (storage.kind === "folder")
    return backups?.hasRecordings === false
      ? unchecked("in the data folder, but not in backups (PARLEY_BACKUP_RECORDINGS)", "back up recordings/ separately")
      : ok("in the data folder; backups include them");
  if (!storage.isEncrypted)
    return attention("in a bucket whose endpoint is http", "give PARLEY_STORAGE_URL an https endpoint");
  return ok("in a bucket, over https");
}

const backup = ({ backups }: Evidence): Outcome => (backups ? backupOutcome(backups) : NOT_ANSWERED);

function openFiles(_: Evidence, { openFilesLimit }: NodeFacts): Outcome {
  const todo = "raise it: ulimit -n, LimitNOFILE of systemd, ulimits of compose";
  if (openFilesLimit === null) return unchecked("the limit is unknown on this system", todo);
  if (openFilesLimit < LOW_OPEN_FILES) return serious(`at most ${openFilesLimit}, and each connection uses one`, todo);
  if (openFilesLimit < GOOD_OPEN_FILES)
    return attention(`at most ${openFilesLimit}, and each connection uses one`, todo);
  return ok(`up to ${openFilesLimit}`);
}

function rates(_: Evidence, facts: NodeFacts): Outcome {
  const off = (
    [
      ["PARLEY_CONNECTS_PER_MINUTE_PER_IP", facts.connectsPerMinutePerIp],
      ["PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP", facts.httpRequestsPerMinutePerIp],
      ["PARLEY_FRAMES_PER_SECOND", facts.framesPerSecond],
      ["PARLEY_REST_REQUESTS_PER_SECOND", facts.restRequestsPerSecond],
    ] as const
  ).flatMap(([name, rate]) => (rate === 0 ? [name] : []));
  if (off.length > 0)
    return attention(`no limit: ${off.join(", ")}`, "set a rate slightly above what your clients need");
  return ok(
    `${facts.connectsPerMinutePerIp} connects per minute and address, ${facts.framesPerSecond} frames per second and connection, ${facts.restRequestsPerSecond} REST requests per second and key`,
  );
}

function turn({ silentTurn }: Evidence, { turnUrls }: NodeFacts): Outcome {
  // Absent in the facts of an earlier version.
  if (!turnUrls || turnUrls.length === 0)
    return unchecked(
      "no TURN server is configured",
      "people behind strict firewalls cannot join calls without one: docs/turn.md",
    );
  if (silentTurn.length === 0) return ok(`${turnUrls.join(", ")}: answered from this machine`);
  return attention(
    `no answer from ${silentTurn.join(", ")} to this machine`,
    "start it, open its ports, or correct PARLEY_TURN_URLS",
  );
}

function clock({ clockAheadSeconds: ahead }: Evidence): Outcome {
  if (ahead === undefined) return unchecked("the node did not report its time", "compare its clock with yours");
  if (Math.abs(ahead) <= CLOCK_TOLERANCE_SECONDS) return ok("the node's clock and this machine's agree");
  return attention(
    `the node's clock is ${Math.abs(ahead)} s ${ahead > 0 ? "ahead of" : "behind"} this machine's: if the node's clock is wrong, tokens expire too ${ahead > 0 ? "early" : "late"}`,
    "synchronise both clocks: chrony, systemd-timesyncd",
  );
}

function user(_: Evidence, { isRoot }: NodeFacts): Outcome {
  if (!isRoot) return ok("the process is not root");
  return attention("the process runs as root", "run it as a separate user (deploy/systemd, the image)");
}

function stopping(_: Evidence, { drainSeconds }: NodeFacts): Outcome {
  const needed = 2 * drainSeconds;
  return unchecked(
    `a drain takes up to ${needed} s (twice PARLEY_DRAIN_SECONDS)`,
    `the supervisor must wait longer before it kills the process: TimeoutStopSec, stop_grace_period, terminationGracePeriodSeconds over ${needed}`,
  );
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

type Check = (evidence: Evidence, facts: NodeFacts) => Outcome;

/** In the order of docs/production.md. */
const WITH_FACTS: Readonly<Record<string, Check>> = {
  TLS: encryption,
  "trusted proxies": proxies,
  "public address": publicAddress,
  "control plane": controlPlane,
  "first-run.txt": firstRunFile,
  "master key": masterKey,
  demo,
  database,
  NATS: nats,
  "recordings storage": recordings,
  backup,
  "open files": openFiles,
  rates,
  TURN: turn,
  user,
  stopping,
};
const WITHOUT_FACTS: Readonly<Record<string, (evidence: Evidence) => Outcome>> = {
  ready: readiness,
  "admin token": adminToken,
  metrics,
  "open keys": openKeys,
  clock,
  mending: liveOnly("mending", "recordings can be mended"),
  history: liveOnly("history", "messages of channels with history can be stored"),
};

export const CHECKS: readonly string[] = [...Object.keys(WITHOUT_FACTS), ...Object.keys(WITH_FACTS)];

export function examine(evidence: Evidence): Finding[] {
  const { facts } = evidence;
  const unsupported = unchecked(
    "this server is too old for this check",
    "upgrade it, or go through docs/production.md by hand",
  );
  return [
    ...Object.entries(WITHOUT_FACTS).map(([check, run]) => ({ check, ...run(evidence) })),
    ...Object.entries(WITH_FACTS).map(([check, run]) => ({ check, ...(facts ? run(evidence, facts) : unsupported) })),
  ].map((finding) => withLive(finding, evidence));
}

/** No server answers: what doctor tried itself may say why. */
export function examineWithoutServer(reason: string, direct: DirectEvidence): Finding[] {
  const evidence = { health: undefined, direct };
  return [
    { check: "ready", ...serious(reason, "start the server; if it does not start, its output or log says why") },
    ...CHECKS.flatMap((check) => {
      const outcome = liveOutcome(check, evidence);
      return outcome ? [{ check, ...outcome }] : [];
    }),
  ];
}
