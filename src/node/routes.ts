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
import { channelEndpoints, type Quota } from "../http/channels.ts";
import { connectHandler } from "../http/connect.ts";
import { docsPage } from "../http/docs.ts";
import { factsEndpoint, type NodeFacts } from "../http/facts.ts";
import { fileEndpoints } from "../http/files.ts";
import { makeGuards } from "../http/guards.ts";
import { appLabel } from "../http/host.ts";
import { keyEndpoints } from "../http/keys.ts";
import { openapiDocument } from "../http/openapi.ts";
import { healthEndpoint, type ReadyChecks, readyResponse } from "../http/operations.ts";
import { OwnHosts } from "../http/own-host.ts";
import { peerEndpoints } from "../http/peers.ts";
import { recordingEndpoints } from "../http/recordings.ts";
import { roomEndpoints } from "../http/rooms.ts";
import type { Frame, Handler, Routes } from "../http/router.ts";
import { startPage } from "../http/start.ts";
import type { Strangers } from "../http/strangers.ts";
import { Streams } from "../http/streams.ts";
import { tokenEndpoints } from "../http/tokens.ts";
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
  readonly frame: Frame;
  readonly strangers: Strangers;
  readonly facts: () => NodeFacts;
  readonly adminTokenDigest: () => string;
}

export interface NodeRoutes {
  readonly publicRoutes: Routes;
  readonly adminRoutes: Routes;
}

export function buildRoutes(parts: RouteParts): NodeRoutes {
  const { config, log, store, keyring, directory, metrics, heart, rooms, checks, frame, adminTokenDigest } = parts;
  const { nowMs, monotonicMs } = clock;
  const { hub, usage, gateway, keyRate, engine, follow: news } = heart;
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
    news,
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
      cut: (...cut) => frame.cut("/v1/channels/:channel/peers", ...cut),
    }),
    ...peerEndpoints(guards.secret, { hub, quota, store, blocks: heart.blocks, nowMs }),
    ...usageEndpoints(guards.secret, { keyring, hub, usage, gather }),
  ];
  const control = [
    ...appEndpoints(guards.admin, directory, audit, rotationGraceSeconds, () => parts.archive.clearDeleted()),
    ...keyEndpoints(guards.admin, { directory, keyring, audit, nowMs, rotationGraceSeconds, news }),
    factsEndpoint(guards.admin, parts.facts),
  ];
  const appGuards = applicationGuards({
    keyring,
    domain: config.domain,
    nowMs,
    requests: new Throttle(perSecond, perSecond, monotonicMs),
    strangers: parts.strangers,
    news,
  });
  const { recordings, uploads, links } = parts.archive;
  const application = [
    ...roomEndpoints(appGuards, rooms, streams, (...cut) => frame.cut("/api/v1/rooms", ...cut)),
    ...accessTokenEndpoints(appGuards, parts.accessTokens),
    ...recordingEndpoints(appGuards, recordings, config.linkSeconds),
    ...uploadEndpoints(appGuards, uploads, recordings, links),
    ...fileEndpoints(appGuards, recordings, links, nowMs),
  ];
  const endpoints = [healthEndpoint, ...realtime, ...control, ...application];
  const document = openapiDocument(endpoints, VERSION, config.domain);
  const start = startPage(() => keyring.openKeyOf(DEMO));
  const publicRoutes: Routes = {
    "/v1": connectHandler(frame, gateway),
    ...frame.routes([healthEndpoint, ...realtime]),
    "/readyz": frame.wrap("/readyz", () => readyResponse(checks)),
    "/openapi.json": frame.page("/openapi.json", (call) => Response.json(document(call.origin))),
    "/docs": frame.page("/docs", docsPage),
    ...absentOnAppHosts({ "/": frame.page("/", start) }, config.domain, frame),
    ...applicationRoutes(frame, application, config.domain),
  };
  const adminRoutes: Routes = {
    ...frame.routes(control),
    "/metrics": frame.wrap("/metrics", async (call) => {
      await guards.observer.admit(call);
      return new Response(metrics.text(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
    }),
  };
  return { publicRoutes, adminRoutes: absentOnAppHosts(adminRoutes, config.domain, frame) };
}

/** The control plane and the start page do not exist on an application's host, whoever says that it is one. */
function absentOnAppHosts(routes: Routes, domain: string, frame: Frame): Routes {
  const onOwnHost =
    (handler: Handler): Handler =>
    (request, server) => {
      const hosts = [request.headers.get("host"), frame.call(request, server).host];
      const isApp = hosts.some((host) => appLabel(host, domain) !== undefined);
      return (isApp ? frame.notFound : handler)(request, server);
    };
  return Object.fromEntries(Object.entries(routes).map(([path, handler]) => [path, onOwnHost(handler)]));
}
