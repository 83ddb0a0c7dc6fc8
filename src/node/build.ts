/**
 * Builds a node from its parts. This loads the store's state, makes the first run on an empty store, and connects to NATS: from
 * then on the node sends heartbeats and flushes its usage. Ports and all other background work start in start.ts.
 *
 * The clock here is unguarded, because these parts only read the time from it. Realtime also sets timers, so
 * its clock is guarded.
 */
import { BlockSweep } from "../access/admission/block-sweep.ts";
import { ChangeAnnouncements } from "../access/admission/change-announcements.ts";
import { EventSessionNames } from "../access/tokens/event-session.ts";
import { RoomTokens } from "../access/tokens/room-token.ts";
import { systemClock as clock, DOUBTED_STEP_MS } from "../base/clock.ts";
import { Repeating } from "../base/repeating.ts";
import { Throttle } from "../base/throttle.ts";
import type { BackupService } from "../durable/schedule/service.ts";
import { ClusterEngine } from "../engine/cluster/cluster-engine.ts";
import type { Engine } from "../engine/engine.ts";
import type { HistoryStore } from "../history/contract/history.ts";
import { MeteredHistory } from "../history/metered.ts";
import type { RuleChanges } from "../history/rule-changes.ts";
import type { HistoryTrimming } from "../history/trimming.ts";
import type { PageServer } from "../http/pages/pages.ts";
import type { FileReserve } from "../http/server/file-reserve.ts";
import { countOpenFiles, HeadLimit, setHeadLimit } from "../http/server/head-limit.ts";
import { RequestPipeline } from "../http/server/pipeline.ts";
import { UnauthenticatedLimit } from "../http/server/unauthenticated-limit.ts";
import type { Meetings } from "../meetings/meetings.ts";
import type { MeetingRetention } from "../meetings/retention.ts";
import { LateRoomHooks } from "../realtime/connections/room-hooks.ts";
import type { SocketData } from "../realtime/frames/socket-handlers.ts";
import type { TailNodes } from "../realtime/operators/tail-nodes.ts";
import type { HoldStill } from "../store/contract/still-files.ts";
import { ClockWatch } from "../telemetry/clock-watch.ts";
import { Faults } from "../telemetry/faults.ts";
import type { Log } from "../telemetry/log.ts";
import { Metrics, processMetrics } from "../telemetry/metrics.ts";
import { Vitals } from "../telemetry/vitals.ts";
import { VERSION } from "../version.ts";
import type { Tracker } from "../webhooks/tracking/tracker.ts";
import { buildFiles } from "./files.ts";
import { Listeners } from "./listeners.ts";
import { type Access, buildAccess } from "./parts/access.ts";
import { buildBackups } from "./parts/backups.ts";
import type { NodeContext } from "./parts/context.ts";
import { buildDataReports } from "./parts/data.ts";
import { natsOf, notUnderstoodBy } from "./parts/engine.ts";
import { LOOPBACK } from "./parts/first-run.ts";
import { buildRuleChanges, buildTrimming } from "./parts/history.ts";
import { buildMeetingRetention, buildMeetingService } from "./parts/meetings.ts";
import { buildRealtime, type Realtime } from "./parts/realtime.ts";
import { buildRecordings, type RecordingService } from "./parts/recordings.ts";
import { buildRooms, type RoomService } from "./parts/rooms.ts";
import { buildSweeps, type Sweeps } from "./parts/sweeps.ts";
import { buildTail } from "./parts/tail.ts";
import type { Team } from "./parts/team.ts";
import { buildTracking } from "./parts/tracking.ts";
import { buildTurn } from "./parts/turn.ts";
import { buildWebhooks, type Webhooks } from "./parts/webhooks.ts";
import { buildRoutes, type NodeRoutes } from "./routes/routes.ts";
import { factsOf, openFilesLimit } from "./status/facts.ts";
import { answerNodeStatus } from "./status/node-status.ts";
import { ownChecks, reportTo } from "./status/own-checks.ts";
import { readyChecks } from "./status/readiness.ts";
import { unheardWorkers } from "./status/unheard-workers.ts";

/** How late a stream ends whose session has expired. */
const SESSION_SWEEP_EVERY_MS = 5000;
const CLOCK_CHECK_EVERY_MS = 5000;
const ANNOUNCED_AGAIN_EVERY_MS = 2000;

export interface NodeParts {
  readonly context: NodeContext;
  readonly access: Access;
  readonly listeners: Listeners<SocketData>;
  readonly realtime: Realtime;
  readonly rooms: RoomService;
  readonly meetings: Meetings;
  readonly recordings: RecordingService;
  readonly backups: BackupService;
  readonly webhooks: Webhooks;
  readonly tracker: Tracker;
  readonly tails: TailNodes;
  readonly historyTrimming: HistoryTrimming;
  readonly meetingRetention: MeetingRetention;
  readonly sweeps: Sweeps;
  readonly ruleChanges: RuleChanges;
  readonly blockSweep: BlockSweep;
  readonly sessionSweep: Repeating;
  /** Announces again what the other nodes may not know of. */
  readonly announcing: Repeating;
  readonly clockWatch: Repeating;
  /** What a worker tells the others about its state. */
  readonly reporting: Repeating | undefined;
  readonly headLimit: HeadLimit;
  readonly files: FileReserve;
  readonly pipeline: RequestPipeline;
  readonly routes: NodeRoutes;
}

export interface BuildOptions extends Pick<NodeContext, "config" | "sources" | "nodeId" | "log" | "store"> {
  readonly history: HistoryStore;
  readonly holdStill?: HoldStill | undefined;
  readonly team?: Team | undefined;
  readonly loadPages: () => Promise<PageServer>;
}

export async function buildNode(options: BuildOptions): Promise<NodeParts> {
  const context = contextOf(options);
  const { config, nodeId, log, store, metrics, faults, team } = context;

  // Access first: the host to listen on and everything below depend on keys, applications and the first run.
  const access = await buildAccess(context);
  const { keyring, directory, operators, auditTrail, vault, host } = access;
  if (config.natsUrl !== "" && config.databaseUrl === "")
    log.warn("PARLEY_NATS_URL without PARLEY_DATABASE_URL: keys created here are unknown to other nodes");
  if (config.natsUrl !== "" && config.host === "" && host === LOOPBACK)
    log.warn(
      `this node listens only on ${LOOPBACK}, because its first start created the demo: set PARLEY_HOST=0.0.0.0 to let other machines connect`,
    );

  // The listeners come before realtime, which writes to their sockets, although they open their ports only in start.ts.
  const listeners = new Listeners<SocketData>(config, host, team !== undefined);
  const { broadcast } = listeners;
  const files = buildFiles(context, listeners);
  const { snapshotLoaded, withdrawn } = access;
  const roomTokens = new RoomTokens(vault);
  const roomHooks = new LateRoomHooks();
  const turn = buildTurn(config, vault);
  const ofAccess = { keyring, snapshotLoaded, withdrawn };
  const realtime = await buildRealtime({
    ...context,
    ...ofAccess,
    broadcast,
    eventSessionNames: new EventSessionNames(vault),
    roomTokens,
    roomHooks,
    turn,
    room: files,
  });
  answerNodeStatus(context, realtime);
  const { storeFollower } = realtime;
  const webhooks = buildWebhooks({ ...context, access });
  const tracker = buildTracking({ ...context, realtime, webhookBook: access.webhookBook });
  const announcements = new ChangeAnnouncements((withdrawn) => realtime.engine.invalidate(undefined, withdrawn));
  if (storeFollower) {
    directory.onChange((withdrawn, app) => announcements.announce(withdrawn, app));
    operators.onChange((withdrawn) => announcements.announce(withdrawn));
    webhooks.endpoints.onChange(() => announcements.announce(undefined));
  }
  const tails = buildTail({ ...context, keyring, realtime });

  // The application API: independent of realtime, except for people in rooms.
  const rooms = await buildRooms({ ...context, vault });
  const meetings = buildMeetingService({ ...context, keyring, realtime, rooms, roomHooks, turn });
  const recordings = buildRecordings({ ...context, vault });
  meetings.stays.listen({
    ended: (stay) => {
      if (stay.why === "removed") recordings.stayRemoved(stay);
    },
  });

  const { nodeRequests } = realtime.hub;
  const backups = buildBackups({ ...context, recordings, holdStill: options.holdStill, nodeRequests });

  // Background work, which start.ts starts.
  const blockSweep = new BlockSweep({
    blocks: realtime.blocks,
    store,
    nowMs: clock.wallMs,
    failed: (err) => log.error({ err }, "expired blocks could not be removed; trying again in a minute"),
  });
  const historyTrimming = buildTrimming({ ...context, keyring });
  const meetingRetention = buildMeetingRetention(context);
  const sweeps = buildSweeps(context);
  const ruleChanges = buildRuleChanges({ ...context, keyring, clock: realtime.clock });
  const sessionSweep = new Repeating(
    SESSION_SWEEP_EVERY_MS,
    () => operators.endExpired(),
    (err) => log.error({ err }, "expired sessions could not be ended; trying again"),
  );
  const announcing = new Repeating(
    ANNOUNCED_AGAIN_EVERY_MS,
    () => announcements.repeat(),
    (err) => log.error({ err }, "revocations could not be announced to other nodes; trying again"),
  );
  const clockWatch = watchClock(log, () => meetings.upkeep.clockSetBack());
  const headLimit = new HeadLimit({
    openFiles: countOpenFiles,
    webSockets: () => realtime.hub.connections.count,
    set: setHeadLimit,
    guarded: (callback) => faults.guarded("timer", callback),
  });
  metrics.gauge("parley_request_head_limit_bytes", "How long a request head may be.", () => headLimit.bytes);

  // HTTP comes last: its endpoints call all of the above.
  const own = ownChecks({
    isNatsUp: natsOf(config, realtime.engine),
    unheardWorkers: unheardBy(context, realtime.engine),
    notUnderstood: notUnderstoodBy(realtime.engine),
    isHistoryUp: () => context.history.isUp,
    mendings: recordings.mendings,
    certificate: () => listeners.certificate,
    openFiles: countOpenFiles,
    openFilesLimit: openFilesLimit(),
    isFull: () => files.isFull,
    nowMs: clock.wallMs,
  });
  const checks = readyChecks({
    store,
    keyring,
    ownChecks: own,
    isFollowing: () => storeFollower?.isUp !== false,
    // Requests to a worker that is being replaced come over connections from before; the service goes on.
    isDraining: () => (team ? team.state.isStopping : realtime.gateway.isDraining),
    team,
    recordings: recordings.state,
    canMend: recordings.canMend,
    backups: () => backups.health,
    monotonicMs: clock.monotonicMs,
    failed: (err) => log.error({ err }, "the store cannot be written to"),
  });
  const perMinute = config.httpRequestsPerMinutePerIp;
  const unauthenticated = new UnauthenticatedLimit(context.throttle("http", perMinute, perMinute / 60));
  const { trustedProxies, domain } = config;
  const pipeline = new RequestPipeline({ log, metrics, trustedProxies, domain, unauthenticated });
  const facts = factsOf({ config, nodeId, host, sealedKeys: () => keyring.sealed.length });
  const services = {
    backups,
    turn,
    keyring,
    directory,
    operators,
    auditTrail,
    realtime,
    rooms,
    meetings,
    recordings,
    webhooks,
    tails,
    ruleChanges,
    sweeps,
    dataReports: buildDataReports(context, recordings),
  };
  const pages = await options.loadPages();
  team?.onMeasure(() => metrics.text());
  const routes = buildRoutes({ ...context, ...services, checks, pipeline, unauthenticated, facts, pages, files });
  return {
    context,
    access,
    listeners,
    realtime,
    rooms,
    meetings,
    recordings,
    backups,
    webhooks,
    tracker,
    tails,
    historyTrimming,
    meetingRetention,
    sweeps,
    ruleChanges,
    blockSweep,
    sessionSweep,
    announcing,
    clockWatch,
    reporting:
      team &&
      reportTo(team, own, (err) => log.error({ err }, "this worker's state could not be reported to the others")),
    headLimit,
    files,
    pipeline,
    routes,
  };
}

/** undefined: this node is no worker, or NATS is between the workers. */
function unheardBy({ team, config }: NodeContext, engine: Engine): (() => number) | undefined {
  if (!team || config.natsUrl !== "" || !(engine instanceof ClusterEngine)) return undefined;
  return unheardWorkers({ team, heard: () => engine.others, monotonicMs: clock.monotonicMs });
}

/** `setBack` is called when the clock was set back. */
function watchClock(log: Log, setBack: () => Promise<void>): Repeating {
  let isSetBack = false;
  const watch = new ClockWatch({
    ...clock,
    jumped: (byMs) => {
      isSetBack ||= byMs < 0;
      log.warn(
        `this machine's clock was set ${byMs > 0 ? "forward" : "back"} by ${Math.round(Math.abs(byMs) / 1000)} s, or the machine was suspended: times of tokens, blocks and sessions are compared with it${
          byMs > DOUBTED_STEP_MS ? "; nothing is deleted because of its age for the next hour" : ""
        }`,
      );
    },
  });
  return new Repeating(
    CLOCK_CHECK_EVERY_MS,
    async () => {
      watch.check();
      if (!isSetBack) return;
      await setBack();
      isSetBack = false;
    },
    (err) => log.error({ err }, "the change of the machine's clock could not be handled; trying again"),
  );
}

function contextOf(options: BuildOptions): NodeContext {
  const { config, sources, nodeId, log, store, team } = options;
  const metrics = new Metrics();
  processMetrics(metrics, VERSION, nodeId);
  const history = new MeteredHistory(options.history, metrics, {
    changed: (canStore, err) =>
      canStore
        ? log.info("messages of channels with history are stored again")
        : log.error({ err }, "messages of channels with history cannot be stored; their publishers get backend_error"),
  });
  return {
    config,
    sources,
    nodeId,
    log,
    store,
    history,
    metrics,
    faults: new Faults(log, metrics),
    vitals: new Vitals(),
    team,
    throttle: team?.throttle ?? ((_, burst, perSecond) => new Throttle(burst, perSecond, clock.monotonicMs)),
  };
}
