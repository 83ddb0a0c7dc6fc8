/** Every path that a node serves: the public ones and the operator's. */
import type { AuditTrail } from "../access/audit-trail.ts";
import type { Directory } from "../access/directory.ts";
import type { Moment } from "../access/explain.ts";
import type { Keyring } from "../access/keyring.ts";
import { ADMIN_WRONG_TRIES_PER_MINUTE } from "../access/limits.ts";
import type { Operators } from "../access/operators.ts";
import { Throttle } from "../access/throttle.ts";
import { shownSettings } from "../config/show.ts";
import { accessTokenEndpoints } from "../http/access-tokens.ts";
import { adminRecordingEndpoints } from "../http/admin-recordings.ts";
import { adminRoomEndpoints } from "../http/admin-rooms.ts";
import { adminUsageEndpoints } from "../http/admin-usage.ts";
import { makeAppIn } from "../http/app-in.ts";
import { type ApplicationGuards, applicationGuards, applicationRoutes } from "../http/application.ts";
import { appEndpoints } from "../http/apps.ts";
import { type Audit, makeAppAudit, makeAudit } from "../http/audit.ts";
import { auditEndpoint } from "../http/audit-log.ts";
import type { Call } from "../http/call.ts";
import { channelEndpoints } from "../http/channels.ts";
import { connectHandler } from "../http/connect.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { explainEndpoints } from "../http/explain.ts";
import { factsEndpoint, type NodeFacts } from "../http/facts.ts";
import { FileStreams } from "../http/file-streams.ts";
import { fileEndpoints } from "../http/files.ts";
import { type GuardParts, type Guards, makeGuards } from "../http/guards.ts";
import { keyConnections } from "../http/key-connections.ts";
import { keyEndpoints } from "../http/keys.ts";
import { liveChannelEndpoints } from "../http/live-channels.ts";
import { livePeerEndpoints } from "../http/live-peers.ts";
import { nodesEndpoint } from "../http/nodes.ts";
import { openapiDocument } from "../http/openapi.ts";
import { healthEndpoint, type ReadyChecks, readyResponse } from "../http/operations.ts";
import { operatorEndpoints } from "../http/operators.ts";
import { OwnHosts } from "../http/own-host.ts";
import type { Pages } from "../http/pages/pages.ts";
import { peerEndpoints } from "../http/peers.ts";
import type { RequestPipeline, Routes } from "../http/pipeline.ts";
import { recordingEndpoints } from "../http/recordings.ts";
import { roomEndpoints } from "../http/rooms.ts";
import { routesOf } from "../http/router.ts";
import { seriesEndpoints } from "../http/series.ts";
import { sessionEndpoints } from "../http/sessions.ts";
import { settingsEndpoint } from "../http/settings.ts";
import type { LogIncomplete } from "../http/streamed-array.ts";
import { Streams } from "../http/streams.ts";
import { tailEndpoint } from "../http/tail.ts";
import { tokenEndpoints } from "../http/tokens.ts";
import type { UnauthenticatedLimit } from "../http/unauthenticated-limit.ts";
import { uploadEndpoints } from "../http/uploads.ts";
import { usageEndpoints } from "../http/usage.ts";
import type { UsageSources } from "../http/usage-schemas.ts";
import { systemClock } from "../realtime/clock.ts";
import { Quota } from "../realtime/quota.ts";
import type { TailNodes } from "../realtime/tail-nodes.ts";
import { VERSION } from "../version.ts";
import type { NodeContext } from "./context.ts";
import { DEMO } from "./first-run.ts";
import { pageRoutes } from "./page-routes.ts";
import type { Realtime } from "./realtime.ts";
import type { RecordingService } from "./recordings.ts";
import type { RoomService } from "./rooms.ts";

const { nowMs, monotonicMs } = systemClock;
/** How long a request for usage waits for what other nodes have counted. */
const GATHER_MS = 1500;

export interface RouteParts extends NodeContext {
  readonly keyring: Keyring;
  readonly directory: Directory;
  readonly operators: Operators;
  readonly auditTrail: AuditTrail;
  readonly realtime: Realtime;
  readonly rooms: RoomService;
  readonly recordings: RecordingService;
  readonly tails: TailNodes;
  readonly checks: ReadyChecks;
  readonly pipeline: RequestPipeline;
  readonly unauthenticated: UnauthenticatedLimit;
  readonly facts: () => NodeFacts;
  readonly pages: Pages;
}

export interface NodeRoutes {
  readonly publicRoutes: Routes;
  readonly adminRoutes: Routes;
}

export function buildRoutes(parts: RouteParts): NodeRoutes {
  const { config, keyring, metrics, realtime, checks, pipeline, pages } = parts;
  const access = guardPartsOf(parts);
  const guards = makeGuards(access);
  const audit = makeAudit(parts.log, parts.auditTrail);
  const streams = new Streams(realtime.clock);
  metrics.gauge("parley_streamed_lists", "Long lists that are being sent.", () => streams.size);
  const service = [healthEndpoint, ...realtimeEndpoints(parts, guards, streams)];
  const control = [
    ...controlEndpoints(parts, guards, audit),
    ...(config.dashboard ? sessionEndpoints({ operators: parts.operators, access, audit }) : []),
  ];
  const application = applicationEndpoints(parts, streams);
  const document = openapiDocument([...service, ...control, ...application], VERSION, config.domain);
  const { isOwnHost } = access;
  const demoKey = (): string | undefined => keyring.openKeyOf(DEMO);
  const { publicPages, operatorPages } = pageRoutes({ config, pipeline, pages, demoKey, isOwnHost });
  const publicRoutes: Routes = {
    "/v1": connectHandler(pipeline, realtime.gateway),
    ...routesOf(pipeline, service),
    "/readyz": pipeline.handler(pipeline.route("/readyz", () => readyResponse(checks))),
    "/openapi.json": pipeline.handler(
      pipeline.publicRoute("/openapi.json", (call) => Response.json(document(call.origin))),
    ),
    ...publicPages,
    ...applicationRoutes(pipeline, application),
  };
  const metricsPage = async (call: Call): Promise<Response> => {
    await guards.observer.admit(call);
    return new Response(metrics.text(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  };
  const adminRoutes: Routes = {
    ...routesOf(pipeline, control, { hosts: "own" }),
    "/metrics": pipeline.handler(pipeline.route("/metrics", metricsPage, { hosts: "own" })),
    ...operatorPages,
  };
  return { publicRoutes, adminRoutes };
}

function guardPartsOf({ config, keyring, operators, realtime: { keyRate, storeFollower } }: RouteParts): GuardParts {
  const ownHosts = new OwnHosts(config.publicUrl);
  return {
    keyring,
    operators,
    nowMs,
    requests: keyRate,
    wrongTries: new Throttle(ADMIN_WRONG_TRIES_PER_MINUTE, ADMIN_WRONG_TRIES_PER_MINUTE / 60, monotonicMs),
    isOwnHost: (call) => ownHosts.has(call.host),
    hasDashboard: config.dashboard,
    storeFollower,
  };
}

function realtimeEndpoints(parts: RouteParts, guards: Guards, streams: Streams): Endpoint[] {
  const { store, keyring, pipeline } = parts;
  const { hub, keyRate, blocks } = parts.realtime;
  const logIncomplete: LogIncomplete = (call, error) =>
    pipeline.logIncompleteResponse("/v1/channels/:channel/peers", call, error);
  return [
    ...tokenEndpoints(guards.minting, keyRate, nowMs),
    ...channelEndpoints(guards.secret, { hub, streams, logIncomplete }),
    ...peerEndpoints(guards.secret, { hub, store, blocks, nowMs, audit: makeAppAudit(parts.auditTrail) }),
    ...usageEndpoints(guards.secret, { keyring, ...usageSources(parts) }),
  ];
}

function usageSources({ store, realtime: { hub, usage, engine } }: RouteParts): UsageSources {
  /** Has a timeout: while the store is unreachable, the response holds what this node knows. */
  const gather = async (app: string): Promise<void> => {
    if (store.isShared) await Promise.race([engine.nudge(app).then(() => usage.flush()), Bun.sleep(GATHER_MS)]);
  };
  return { hub, usage, gather };
}

function controlEndpoints(parts: RouteParts, guards: Guards, audit: Audit): Endpoint[] {
  const { directory, keyring, operators, store, recordings, facts, config, sources } = parts;
  const { hub, storeFollower } = parts.realtime;
  const { rotationGraceSeconds } = config;
  const clearDeleted = (): void => recordings.clearDeleted();
  return [
    ...appEndpoints(guards, { directory, audit, nowMs, rotationGraceSeconds, clearDeleted }),
    ...keyEndpoints(guards, {
      directory,
      keyring,
      audit,
      nowMs,
      rotationGraceSeconds,
      storeFollower,
      connectionsOf: keyConnections(hub),
    }),
    factsEndpoint(guards.operator, facts),
    ...operatorEndpoints(guards, operators, audit),
    auditEndpoint(guards.operator, store.audit, (idOrName) => keyring.app(idOrName)?.id),
    settingsEndpoint(guards.operator, () => shownSettings({ config, sources })),
    ...consoleEndpoints(parts, guards, audit),
    tailEndpoint(guards.stream, {
      tails: parts.tails,
      appId: (name) => keyring.app(name)?.id,
      clock: parts.realtime.clock,
    }),
    ...liveEndpoints(parts, guards, audit),
  ];
}

/** The control plane's calls about one application. */
function consoleEndpoints(parts: RouteParts, guards: Guards, audit: Audit): Endpoint[] {
  const { config, keyring, directory, store, realtime, metrics, pipeline } = parts;
  const { hub, gateway, usage, blocks, keyRate, storeFollower } = realtime;
  const quota = new Quota(keyring, usage);
  const moment = (): Moment => ({
    isDraining: gateway.isDraining,
    connectsPerMinute: config.connectsPerMinutePerIp,
    connectionsOf: (app) => ({
      now: hub.occupancy.connectionsOf(app),
      max: keyring.app(app)?.maxConcurrentConnections ?? null,
    }),
    isQuotaUsedUp: (app) => quota.isUsedUp(app),
  });
  const fileStreams = new FileStreams();
  metrics.gauge("parley_streamed_files", "Recordings that are being sent from a bucket.", () => fileStreams.size);
  const logIncomplete: LogIncomplete = (call, error) =>
    pipeline.logIncompleteResponse("/api/internal/v1/apps/:app/recordings/:id/file", call, error);
  return [
    ...explainEndpoints(guards.operator, { keyring, store, blocks, keyRate, nowMs, moment, storeFollower }),
    ...adminUsageEndpoints(guards.operator, { directory, store, ...usageSources(parts) }),
    ...adminRecordingEndpoints(guards, {
      directory,
      recordings: parts.recordings.recordings,
      fileStreams,
      audit,
      nowMs,
      logIncomplete,
    }),
    ...adminRoomEndpoints(guards, { directory, rooms: parts.rooms.rooms, audit }),
  ];
}

function liveEndpoints(parts: RouteParts, guards: Guards, audit: Audit): Endpoint[] {
  const { nodeId, keyring, directory, store, realtime } = parts;
  const { hub, live, blocks } = realtime;
  const appIn = makeAppIn(keyring, directory);
  return [
    nodesEndpoint(guards.operator, hub.nodeRequests),
    ...seriesEndpoints(guards.operator, {
      nodeId,
      keyring,
      nodeRequests: hub.nodeRequests,
      series: hub.sampling.series,
    }),
    ...liveChannelEndpoints(guards, { hub, channels: live.channels, appIn, audit }),
    ...livePeerEndpoints(guards, { hub, peers: live.peers, store, blocks, nowMs, appIn, audit }),
  ];
}

function applicationEndpoints(parts: RouteParts, streams: Streams): Endpoint[] {
  const { config, keyring, unauthenticated, pipeline } = parts;
  const perSecond = config.restRequestsPerSecond;
  const guards: ApplicationGuards = applicationGuards({
    keyring,
    nowMs,
    requests: new Throttle(perSecond, perSecond, monotonicMs),
    unauthenticated,
    storeFollower: parts.realtime.storeFollower,
  });
  const logIncomplete: LogIncomplete = (call, error) => pipeline.logIncompleteResponse("/api/v1/rooms", call, error);
  const audit = makeAppAudit(parts.auditTrail);
  const { rooms, accessTokens } = parts.rooms;
  const { recordings, uploads, links } = parts.recordings;
  return [
    ...roomEndpoints(guards, { rooms, streams, logIncomplete, audit }),
    ...accessTokenEndpoints(guards, accessTokens),
    ...recordingEndpoints(guards, { recordings, linkSeconds: config.linkSeconds, audit }),
    ...uploadEndpoints(guards, { uploads, recordings, links }),
    ...fileEndpoints(guards, { recordings, links, nowMs }),
  ];
}
