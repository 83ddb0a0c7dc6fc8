/** Every address a node answers, public and the operator's. */
import type { Directory } from "../access/directory.ts";
import type { Keyring } from "../access/keyring.ts";
import { ADMIN_WRONG_TRIES_PER_MINUTE } from "../access/limits.ts";
import { Throttle } from "../access/throttle.ts";
import type { Config } from "../config/settings.ts";
import { accessTokenEndpoints } from "../http/access-tokens.ts";
import { applicationGuards, applicationRoutes } from "../http/application.ts";
import { appEndpoints } from "../http/apps.ts";
import { makeAudit } from "../http/audit.ts";
import type { Call } from "../http/call.ts";
import { channelEndpoints } from "../http/channels.ts";
import { connectHandler } from "../http/connect.ts";
import { docsPage } from "../http/docs.ts";
import { factsEndpoint, type NodeFacts } from "../http/facts.ts";
import { fileEndpoints } from "../http/files.ts";
import { makeGuards } from "../http/guards.ts";
import { keyEndpoints } from "../http/keys.ts";
import type { Quota } from "../http/messages.ts";
import { openapiDocument } from "../http/openapi.ts";
import { healthEndpoint, type ReadyChecks, readyResponse } from "../http/operations.ts";
import { OwnHosts } from "../http/own-host.ts";
import { peerEndpoints } from "../http/peers.ts";
import type { RequestPipeline, Routes } from "../http/pipeline.ts";
import { recordingEndpoints } from "../http/recordings.ts";
import { roomEndpoints } from "../http/rooms.ts";
import { routesOf } from "../http/router.ts";
import { startPage } from "../http/start.ts";
import { Streams } from "../http/streams.ts";
import { tokenEndpoints } from "../http/tokens.ts";
import type { UnauthenticatedLimit } from "../http/unauthenticated-limit.ts";
import { uploadEndpoints } from "../http/uploads.ts";
import { usageEndpoints } from "../http/usage.ts";
import { Problem } from "../protocol/codes.ts";
import { systemClock as clock } from "../realtime/clock.ts";
import type { AccessTokens } from "../rooms/access-token.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { VERSION } from "../version.ts";
import { DEMO } from "./first-run.ts";
import type { Heart } from "./realtime.ts";
import type { Archive } from "./recordings.ts";

const GATHER_MS = 1500;

export interface RouteParts {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly directory: Directory;
  readonly metrics: Metrics;
  readonly heart: Heart;
  readonly rooms: Rooms;
  readonly archive: Archive;
  readonly accessTokens: AccessTokens;
  readonly checks: ReadyChecks;
  readonly pipeline: RequestPipeline;
  readonly unauthenticated: UnauthenticatedLimit;
  readonly facts: () => NodeFacts;
  readonly adminTokenDigest: () => string;
}

export interface NodeRoutes {
  readonly publicRoutes: Routes;
  readonly adminRoutes: Routes;
}

export function buildRoutes(parts: RouteParts): NodeRoutes {
  const { config, log, store, keyring, directory, metrics, heart, rooms, checks, pipeline, adminTokenDigest } = parts;
  const { nowMs, monotonicMs } = clock;
  const { hub, usage, gateway, keyRate, engine, follow: changes } = heart;
  metrics.gauge("parley_keys", "Live keys.", () => keyring.size);
  metrics.gauge("parley_store_revision", "Revision of keys and applications.", () => keyring.revision);
  const perSecond = config.restRequestsPerSecond;
  const ownHosts = new OwnHosts(config.publicUrl);
  const guards = makeGuards({
    keyring,
    nowMs,
    requests: keyRate,
    wrongTries: new Throttle(ADMIN_WRONG_TRIES_PER_MINUTE, ADMIN_WRONG_TRIES_PER_MINUTE / 60, monotonicMs),
    adminTokenDigest,
    isOwnHost: (call) => ownHosts.has(call.host),
    changes,
  });
  const audit = makeAudit(log);
  const { rotationGraceSeconds } = config;
  const quota: Quota = (app) => {
    const cap = keyring.app(app)?.maxMessagesPerPeriod ?? null;
    if (cap !== null && usage.messagesUsed(app) >= cap) throw new Problem("over_message_quota");
  };
  /** A store that does not answer is not waited for: what is known here is told then. */
  const gather = async (app: string): Promise<void> => {
    if (store.isShared) await Promise.race([engine.nudge(app).then(() => usage.flush()), Bun.sleep(GATHER_MS)]);
  };
  const streams = new Streams(heart.clock);
  metrics.gauge("parley_streamed_lists", "Long lists that are being sent.", () => streams.size);
  const realtime = [
    ...tokenEndpoints(guards.minting, keyRate, nowMs),
    ...channelEndpoints(guards.secret, {
      hub,
      quota,
      streams,
      cut: (...cut) => pipeline.cut("/v1/channels/:channel/peers", ...cut),
    }),
    ...peerEndpoints(guards.secret, { hub, quota, store, blocks: heart.blocks, nowMs }),
    ...usageEndpoints(guards.secret, { keyring, hub, usage, gather }),
  ];
  const control = [
    ...appEndpoints(guards.admin, directory, audit, rotationGraceSeconds, () => parts.archive.clearDeleted()),
    ...keyEndpoints(guards.admin, { directory, keyring, audit, nowMs, rotationGraceSeconds, changes }),
    factsEndpoint(guards.admin, parts.facts),
  ];
  const appGuards = applicationGuards({
    keyring,
    nowMs,
    requests: new Throttle(perSecond, perSecond, monotonicMs),
    unauthenticated: parts.unauthenticated,
    changes,
  });
  const { recordings, uploads, links } = parts.archive;
  const application = [
    ...roomEndpoints(appGuards, rooms, streams, (...cut) => pipeline.cut("/api/v1/rooms", ...cut)),
    ...accessTokenEndpoints(appGuards, parts.accessTokens),
    ...recordingEndpoints(appGuards, recordings, config.linkSeconds),
    ...uploadEndpoints(appGuards, uploads, recordings, links),
    ...fileEndpoints(appGuards, recordings, links, nowMs),
  ];
  const endpoints = [healthEndpoint, ...realtime, ...control, ...application];
  const document = openapiDocument(endpoints, VERSION, config.domain);
  const start = startPage(() => keyring.openKeyOf(DEMO));
  const publicRoutes: Routes = {
    "/v1": connectHandler(pipeline, gateway),
    ...routesOf(pipeline, [healthEndpoint, ...realtime]),
    "/readyz": pipeline.handler(pipeline.route("/readyz", () => readyResponse(checks))),
    "/openapi.json": pipeline.handler(
      pipeline.publicRoute("/openapi.json", (call) => Response.json(document(call.origin))),
    ),
    "/docs": pipeline.handler(pipeline.publicRoute("/docs", docsPage)),
    "/": pipeline.handler(pipeline.publicRoute("/", start, { hosts: "own" })),
    ...applicationRoutes(pipeline, application),
  };
  const metricsPage = async (call: Call): Promise<Response> => {
    await guards.observer.admit(call);
    return new Response(metrics.text(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  };
  const adminRoutes: Routes = {
    ...routesOf(pipeline, control, { hosts: "own" }),
    "/metrics": pipeline.handler(pipeline.route("/metrics", metricsPage, { hosts: "own" })),
  };
  return { publicRoutes, adminRoutes };
}
