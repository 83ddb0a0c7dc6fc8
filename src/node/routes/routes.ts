/** Every path that a node serves: the public ones and the operator's. */
import { OPERATOR_WRONG_TRIES_PER_MINUTE, SIGN_INS_BURST } from "../../access/limits.ts";
import { systemClock } from "../../base/clock.ts";
import { accessTokenEndpoints } from "../../http/application/access-tokens.ts";
import { fileEndpoints } from "../../http/application/files.ts";
import { meetingActEndpoints } from "../../http/application/meeting-acts.ts";
import { meetingJoinEndpoints } from "../../http/application/meeting-joins.ts";
import { meetingSessionEndpoints } from "../../http/application/meeting-sessions.ts";
import { recordingExtraEndpoints } from "../../http/application/recording-extras.ts";
import { recordingEndpoints } from "../../http/application/recordings.ts";
import { roomEndpoints } from "../../http/application/rooms.ts";
import { applicationRoutes } from "../../http/application/routes.ts";
import { stayRecordingEndpoints } from "../../http/application/stay-recordings.ts";
import { turnEndpoints } from "../../http/application/turn.ts";
import { uploadEndpoints } from "../../http/application/uploads.ts";
import { applicationWebhookEndpoints } from "../../http/application/webhooks.ts";
import { sessionEndpoints } from "../../http/control/sessions.ts";
import { eventsHandler } from "../../http/events/events.ts";
import { type ApplicationGuards, applicationGuards } from "../../http/guards/application.ts";
import { GuessPace } from "../../http/guards/guess-pace.ts";
import { type MakeRates, MeetingRates } from "../../http/guards/meeting-rates.ts";
import { OwnHosts } from "../../http/guards/own-host.ts";
import { type GuardParts, type Guards, makeGuards } from "../../http/guards/realtime.ts";
import { type StayCaller, stayGuard } from "../../http/guards/stay.ts";
import { UploadRates } from "../../http/guards/upload-rates.ts";
import { channelHistoryEndpoints } from "../../http/realtime/channel-history.ts";
import { channelEndpoints } from "../../http/realtime/channels.ts";
import { connectHandler } from "../../http/realtime/connect.ts";
import { memberStateEndpoints } from "../../http/realtime/member-states.ts";
import { peerEndpoints } from "../../http/realtime/peers.ts";
import { tokenEndpoints } from "../../http/realtime/tokens.ts";
import { usageEndpoints } from "../../http/realtime/usage.ts";
import type { Call } from "../../http/request/call.ts";
import type { Origins } from "../../http/request/cors.ts";
import type { LogIncomplete } from "../../http/response/streamed-array.ts";
import { StreamedResponses } from "../../http/response/streamed-responses.ts";
import type { Endpoint, Guard } from "../../http/server/endpoint.ts";
import { openapiResponse } from "../../http/server/openapi.ts";
import { healthEndpoint, readyResponse } from "../../http/server/operations.ts";
import type { Routes } from "../../http/server/pipeline.ts";
import { routesOf } from "../../http/server/router.ts";
import { TLS_ASK_PATH, type TlsAskParts, tlsAsk } from "../../http/server/tls-ask.ts";
import { type AppAudit, makeAppAudit, makeAudit } from "../../http/shared/audit.ts";
import { makeRoomWebhookSecrets } from "../../http/shared/room-webhook-secrets.ts";
import { StayRecorders } from "../../meetings/stays/recorders.ts";
import { VERSION } from "../../version.ts";
import { DEMO } from "../parts/first-run.ts";
import { controlEndpoints, usageSources } from "./control.ts";
import { pageRoutes } from "./pages.ts";
import type { RouteParts } from "./parts.ts";
import { buildStreamRoutes } from "./streams.ts";

const { wallMs: nowMs } = systemClock;

export interface NodeRoutes {
  readonly publicRoutes: Routes;
  readonly adminRoutes: Routes;
  /** What operators call; part of adminRoutes. */
  readonly control: readonly Endpoint[];
  /** Those of all APIs. */
  readonly endpoints: readonly Endpoint[];
  /** Ends the requests that wait for messages of streams: their clients come back. */
  readonly endReaders: () => void;
}

export function buildRoutes(parts: RouteParts): NodeRoutes {
  const { config, keyring, metrics, realtime, checks, pipeline, pages } = parts;
  const access = guardPartsOf(parts);
  const guards = makeGuards(access);
  const audit = makeAudit(parts.log, parts.auditTrail);
  const responses = new StreamedResponses(realtime.clock);
  metrics.gauge("parley_streamed_lists", "Long lists that are being sent.", () => responses.size);
  const streams = buildStreamRoutes(parts);
  const realtimeApi = [...realtimeEndpoints(parts, guards, responses), ...streams.endpoints];
  const signIns = parts.throttle("sign-ins", SIGN_INS_BURST, 1);
  const control = controlEndpoints(parts, guards, audit);
  const sessions = config.dashboard ? sessionEndpoints({ operators: parts.operators, access, audit, signIns }) : [];
  const application = applicationEndpoints(parts, responses);
  const endpoints = [healthEndpoint, ...realtimeApi, ...control, ...sessions, ...application];
  const document = openapiResponse(endpoints, VERSION, config.domain, realtime.clock);
  const { isOwnHost } = access;
  const demoKey = (): string | undefined => keyring.openKeyOf(DEMO);
  const { publicPages, operatorPages } = pageRoutes({
    config,
    pipeline,
    pages,
    demoKey,
    isOwnHost,
    appNamed: (name) => keyring.appNamed(name),
    room: (app, roomName) => parts.rooms.rooms.row(app, roomName),
  });
  const publicRoutes: Routes = {
    "/v1": connectHandler(pipeline, realtime.gateway, parts.files),
    "/v1/events": eventsHandler(pipeline, { gateway: realtime.gateway, ...realtime.events }),
    ...routesOf(pipeline, [healthEndpoint], { takesAnyHost: true }),
    ...routesOf(pipeline, realtimeApi),
    "/readyz": pipeline.handler(pipeline.route("/readyz", () => readyResponse(checks), { takesAnyHost: true })),
    "/openapi.json": pipeline.handler(pipeline.publicRoute("/openapi.json", document)),
    ...publicPages,
    ...applicationRoutes(pipeline, application),
  };
  const metricsPage = async (call: Call): Promise<Response> => {
    await guards.observer.admit(call);
    const text = parts.team ? await parts.team.metrics() : metrics.text();
    return new Response(text, { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
  };
  const adminRoutes: Routes = {
    ...routesOf(pipeline, [...control, ...sessions], { hosts: "own" }),
    [TLS_ASK_PATH]: pipeline.handler(pipeline.route(TLS_ASK_PATH, tlsAsk(tlsAskParts(parts)), { hosts: "own" })),
    "/metrics": pipeline.handler(pipeline.route("/metrics", metricsPage, { hosts: "own" })),
    ...operatorPages,
  };
  return { publicRoutes, adminRoutes, control, endpoints, endReaders: () => streams.live.readers.drain() };
}

const tlsAskParts = ({ config, keyring }: RouteParts): TlsAskParts => ({
  domain: config.domain,
  publicUrl: config.publicUrl,
  hasAdminListener: config.adminListen !== "",
  hasApp: (name) => keyring.appNamed(name) !== undefined,
});

function guardPartsOf({
  config,
  throttle,
  keyring,
  operators,
  realtime: { clock, keyRate, storeFollower },
}: RouteParts): GuardParts {
  const ownHosts = new OwnHosts(config.publicUrl);
  return {
    keyring,
    operators,
    nowMs,
    requests: keyRate,
    wrongTries: throttle("wrong-tries", OPERATOR_WRONG_TRIES_PER_MINUTE, OPERATOR_WRONG_TRIES_PER_MINUTE / 60),
    guesses: new GuessPace(clock),
    isOwnHost: (call) => ownHosts.has(call.host),
    hasDashboard: config.dashboard,
    storeFollower,
  };
}

function realtimeEndpoints(parts: RouteParts, guards: Guards, responses: StreamedResponses): Endpoint[] {
  const { store, keyring, pipeline } = parts;
  const { hub, keyRate, blocks } = parts.realtime;
  const logIncomplete: LogIncomplete = (call, error) =>
    pipeline.logIncompleteResponse("/v1/channels/:channel/peers", call, error);
  return [
    ...tokenEndpoints(guards.minting, keyRate, nowMs),
    ...channelEndpoints(guards.secret, {
      occupancy: hub.occupancy,
      publishing: hub.publishing,
      keyTraffic: hub.sampling.keys,
      responses,
      keyRate,
      logIncomplete,
    }),
    ...memberStateEndpoints(guards.secret, hub.states),
    ...channelHistoryEndpoints(guards.secret, {
      pages: hub.pages,
      streams: hub.streams,
      audit: makeAppAudit(parts.auditTrail),
    }),
    ...peerEndpoints(guards.secret, {
      kicks: hub.kicks,
      directs: hub.directs,
      keyTraffic: hub.sampling.keys,
      store,
      blocks,
      nowMs,
      audit: makeAppAudit(parts.auditTrail),
    }),
    ...usageEndpoints(guards.secret, { keyring, ...usageSources(parts) }),
  ];
}

function applicationEndpoints(parts: RouteParts, responses: StreamedResponses): Endpoint[] {
  const { config, keyring, unauthenticated, pipeline } = parts;
  const perSecond = config.restRequestsPerSecond;
  const guards: ApplicationGuards = applicationGuards({
    keyring,
    nowMs,
    requests: parts.throttle("app", perSecond, perSecond),
    unauthenticated,
    storeFollower: parts.realtime.storeFollower,
  });
  const logIncomplete: LogIncomplete = (call, error) => pipeline.logIncompleteResponse("/api/v1/rooms", call, error);
  const audit = makeAppAudit(parts.auditTrail);
  const { rooms, accessTokens } = parts.rooms;
  const { recordings, extras, uploads, links, stayUploads } = parts.recordings;
  const { stayTokens } = parts.meetings.services;
  const recorders = new StayRecorders({ store: parts.store.meetings, stayTokens, uploads: stayUploads, nowMs });
  const rates: MakeRates = (name) => new MeetingRates(name, parts.throttle, unauthenticated);
  const stay: MakeStayGuard = (name, keptMs = 0) => stayGuard({ guards, stayTokens, rates: rates(name), keptMs });
  const uploadRates = new UploadRates(parts.throttle);
  return [
    ...roomEndpoints(guards, { rooms, responses, logIncomplete, audit }),
    ...accessTokenEndpoints(guards, accessTokens),
    ...meetingEndpoints(parts, { recorders, guards, audit, rates, stay }),
    ...turnEndpoints(guards, { ...parts.turn, nowMs, storeFollower: parts.realtime.storeFollower }),
    ...recordingEndpoints(guards, { recordings, linkSeconds: config.linkSeconds, audit }),
    ...uploadEndpoints(guards, {
      uploads,
      recordings,
      links,
      stayUploads,
      recorders,
      stay: stay("recording-complete", stayUploads.keptMs),
      rates: uploadRates,
      nowMs,
    }),
    ...recordingExtraEndpoints(guards, { extras, recordings, links, rates: uploadRates, nowMs }),
    ...fileEndpoints(guards, { recordings, links, nowMs }),
    ...applicationWebhookEndpoints(guards, {
      ...parts.webhooks,
      secretsOfRoom: makeRoomWebhookSecrets(rooms, parts.webhooks.endpoints),
      rotationGraceSeconds: config.rotationGraceSeconds,
      audit,
      nowMs,
    }),
  ];
}

/** The guard of calls with the connect token of a stay, each with rates under a name of its own. */
type MakeStayGuard = (name: string, keptMs?: number) => Guard<StayCaller>;

interface MeetingEndpointParts {
  readonly recorders: StayRecorders;
  readonly guards: ApplicationGuards;
  readonly audit: AppAudit;
  readonly rates: MakeRates;
  readonly stay: MakeStayGuard;
}

/** Rooms that people enter. */
function meetingEndpoints(
  { keyring, meetings, recordings: { links, stayUploads } }: RouteParts,
  { recorders, guards, audit, rates, stay }: MeetingEndpointParts,
): Endpoint[] {
  const { acts, sessions } = meetings.services;
  const frameOrigins: Origins = (call) => keyring.appNamed(call.target.app ?? "")?.allowedFrameOrigins ?? [];
  return [
    ...meetingJoinEndpoints(guards, { meetings, rates, frameOrigins }),
    ...meetingActEndpoints({ acts, guard: stay("acts"), frameOrigins }),
    ...meetingSessionEndpoints(guards, { sessions, acts, audit }),
    ...stayRecordingEndpoints({ recorders, links, guard: (name) => stay(name, stayUploads.keptMs), frameOrigins }),
  ];
}
