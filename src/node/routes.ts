/** Every path that a node serves: the public ones and the operator's. */
import type { AuditTrail } from "../access/audit-trail.ts";
import type { Directory } from "../access/directory.ts";
import type { Keyring } from "../access/keyring.ts";
import { ADMIN_WRONG_TRIES_PER_MINUTE, SIGN_INS_BURST } from "../access/limits.ts";
import type { Operators } from "../access/operators.ts";
import { systemClock } from "../base/clock.ts";
import type { RuleChanges } from "../history/rule-changes.ts";
import { accessTokenEndpoints } from "../http/access-tokens.ts";
import { type ApplicationGuards, applicationGuards, applicationRoutes } from "../http/application.ts";
import { type AppAudit, makeAppAudit, makeAudit } from "../http/audit.ts";
import type { Call } from "../http/call.ts";
import { channelHistoryEndpoints } from "../http/channel-history.ts";
import { channelEndpoints } from "../http/channels.ts";
import { connectHandler } from "../http/connect.ts";
import type { Origins } from "../http/cors.ts";
import type { Endpoint, Guard } from "../http/endpoint.ts";
import type { NodeFacts } from "../http/facts.ts";
import { fileEndpoints } from "../http/files.ts";
import { type GuardParts, type Guards, makeGuards } from "../http/guards.ts";
import { GuessPace } from "../http/guess-pace.ts";
import { meetingActEndpoints } from "../http/meeting-acts.ts";
import { meetingJoinEndpoints } from "../http/meeting-joins.ts";
import { type MakeRates, MeetingRates } from "../http/meeting-rates.ts";
import { meetingSessionEndpoints } from "../http/meeting-sessions.ts";
import { memberStateEndpoints } from "../http/member-states.ts";
import { openapiResponse } from "../http/openapi.ts";
import { healthEndpoint, type ReadyChecks, readyResponse } from "../http/operations.ts";
import { OwnHosts } from "../http/own-host.ts";
import type { PageServer } from "../http/pages/pages.ts";
import { peerEndpoints } from "../http/peers.ts";
import type { RequestPipeline, Routes } from "../http/pipeline.ts";
import { recordingEndpoints } from "../http/recordings.ts";
import { roomEndpoints } from "../http/rooms.ts";
import { routesOf } from "../http/router.ts";
import { sessionEndpoints } from "../http/sessions.ts";
import { type StayCaller, stayGuard } from "../http/stay-guard.ts";
import { stayRecordingEndpoints } from "../http/stay-recordings.ts";
import type { LogIncomplete } from "../http/streamed-array.ts";
import { Streams } from "../http/streams.ts";
import { TLS_ASK_PATH, type TlsAskParts, tlsAsk } from "../http/tls-ask.ts";
import { tokenEndpoints } from "../http/tokens.ts";
import { turnEndpoints } from "../http/turn.ts";
import type { UnauthenticatedLimit } from "../http/unauthenticated-limit.ts";
import { UploadRates } from "../http/upload-rates.ts";
import { uploadEndpoints } from "../http/uploads.ts";
import { usageEndpoints } from "../http/usage.ts";
import { StayRecorders } from "../meetings/stay-recorders.ts";
import type { TailNodes } from "../realtime/operators/tail-nodes.ts";
import { VERSION } from "../version.ts";
import type { NodeContext } from "./context.ts";
import { controlEndpoints, usageSources } from "./control-endpoints.ts";
import { DEMO } from "./first-run.ts";
import type { MeetingService } from "./meetings.ts";
import { pageRoutes } from "./page-routes.ts";
import type { Realtime } from "./realtime.ts";
import type { RecordingService } from "./recordings.ts";
import type { RoomService } from "./rooms.ts";
import type { TurnService } from "./turn.ts";

const { wallMs: nowMs } = systemClock;

export interface RouteParts extends NodeContext {
  readonly keyring: Keyring;
  readonly directory: Directory;
  readonly operators: Operators;
  readonly auditTrail: AuditTrail;
  readonly realtime: Realtime;
  readonly rooms: RoomService;
  readonly meetings: MeetingService;
  readonly recordings: RecordingService;
  readonly turn: TurnService;
  readonly tails: TailNodes;
  readonly ruleChanges: RuleChanges;
  readonly checks: ReadyChecks;
  readonly pipeline: RequestPipeline;
  readonly unauthenticated: UnauthenticatedLimit;
  readonly facts: () => NodeFacts;
  readonly pages: PageServer;
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
  const signIns = parts.throttle("sign-ins", SIGN_INS_BURST, 1);
  const control = [
    ...controlEndpoints(parts, guards, audit),
    ...(config.dashboard ? sessionEndpoints({ operators: parts.operators, access, audit, signIns }) : []),
  ];
  const application = applicationEndpoints(parts, streams);
  const document = openapiResponse([...service, ...control, ...application], VERSION, config.domain);
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
    "/v1": connectHandler(pipeline, realtime.gateway),
    ...routesOf(pipeline, service),
    "/readyz": pipeline.handler(pipeline.route("/readyz", () => readyResponse(checks))),
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
    ...routesOf(pipeline, control, { hosts: "own" }),
    [TLS_ASK_PATH]: pipeline.handler(pipeline.route(TLS_ASK_PATH, tlsAsk(tlsAskParts(parts)), { hosts: "own" })),
    "/metrics": pipeline.handler(pipeline.route("/metrics", metricsPage, { hosts: "own" })),
    ...operatorPages,
  };
  return { publicRoutes, adminRoutes };
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
    wrongTries: throttle("wrong-tries", ADMIN_WRONG_TRIES_PER_MINUTE, ADMIN_WRONG_TRIES_PER_MINUTE / 60),
    guesses: new GuessPace(clock),
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
    ...memberStateEndpoints(guards.secret, hub),
    ...channelHistoryEndpoints(guards.secret, { hub, audit: makeAppAudit(parts.auditTrail) }),
    ...peerEndpoints(guards.secret, { hub, store, blocks, nowMs, audit: makeAppAudit(parts.auditTrail) }),
    ...usageEndpoints(guards.secret, { keyring, ...usageSources(parts) }),
  ];
}

function applicationEndpoints(parts: RouteParts, streams: Streams): Endpoint[] {
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
  const { recordings, uploads, links, stayUploads } = parts.recordings;
  const { stayTokens } = parts.meetings.inside;
  const recorders = new StayRecorders({ store: parts.store.meetings, stayTokens, uploads: stayUploads, nowMs });
  const rates: MakeRates = (name) => new MeetingRates(name, parts.throttle, unauthenticated);
  const stay: MakeStayGuard = (name, keptMs = 0) => stayGuard({ guards, stayTokens, rates: rates(name), keptMs });
  return [
    ...roomEndpoints(guards, { rooms, streams, logIncomplete, audit }),
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
      rates: new UploadRates(parts.throttle),
      nowMs,
    }),
    ...fileEndpoints(guards, { recordings, links, nowMs }),
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
  const { acts, sessions } = meetings.inside;
  const frameOrigins: Origins = (call) => keyring.appNamed(call.target.app ?? "")?.allowedFrameOrigins ?? [];
  return [
    ...meetingJoinEndpoints(guards, { meetings, rates, frameOrigins }),
    ...meetingActEndpoints({ acts, guard: stay("acts"), frameOrigins }),
    ...meetingSessionEndpoints(guards, { sessions, acts, audit }),
    ...stayRecordingEndpoints({ recorders, links, guard: (name) => stay(name, stayUploads.keptMs), frameOrigins }),
  ];
}
