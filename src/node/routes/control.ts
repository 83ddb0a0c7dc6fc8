/** The calls of the control plane: for operators, and for their dashboard. */
import type { Moment } from "../../access/admission/explain.ts";
import { systemClock } from "../../base/clock.ts";
import { type AppId, spaceOf } from "../../base/ids.ts";
import { shownSettings } from "../../config/show.ts";
import { makeAppIn } from "../../http/control/app-in.ts";
import { appEndpoints } from "../../http/control/apps.ts";
import { auditEndpoint } from "../../http/control/audit-log.ts";
import { backupEndpoints } from "../../http/control/backups.ts";
import { dataEndpoints } from "../../http/control/data.ts";
import { explainEndpoints } from "../../http/control/explain.ts";
import { factsEndpoint } from "../../http/control/facts.ts";
import { keyConnections } from "../../http/control/key-connections.ts";
import { keyEndpoints } from "../../http/control/keys.ts";
import { blockEndpoints } from "../../http/control/live/blocks.ts";
import { channelRuleEndpoint } from "../../http/control/live/channel-rules.ts";
import { liveChannelEndpoints } from "../../http/control/live/channels.ts";
import { adminHistoryEndpoints } from "../../http/control/live/history.ts";
import { keyTrafficEndpoint } from "../../http/control/live/key-traffic.ts";
import { nodesWithout } from "../../http/control/live/node-features.ts";
import { nodesEndpoint } from "../../http/control/live/nodes.ts";
import { livePeerEndpoints } from "../../http/control/live/peers.ts";
import { refusalsEndpoint } from "../../http/control/live/refusals.ts";
import { seriesEndpoints } from "../../http/control/live/series.ts";
import { adminStreamEndpoints } from "../../http/control/live/streams.ts";
import { tailEndpoint } from "../../http/control/live/tail.ts";
import { adminMeetingEndpoints } from "../../http/control/meetings.ts";
import { operatorEndpoints } from "../../http/control/operators.ts";
import { adminRecordingExtraEndpoints } from "../../http/control/recording-extras.ts";
import { adminRecordingEndpoints } from "../../http/control/recordings.ts";
import { adminRoomEndpoints } from "../../http/control/rooms.ts";
import { settingsEndpoint } from "../../http/control/settings.ts";
import { adminUsageEndpoints } from "../../http/control/usage.ts";
import { webhookDeliveryEndpoints } from "../../http/control/webhook-deliveries.ts";
import { webhookEndpoints } from "../../http/control/webhooks.ts";
import { type ListGuards, rateLimited } from "../../http/guards/operator.ts";
import type { Guards } from "../../http/guards/realtime.ts";
import { TokenChecks } from "../../http/guards/token-checks.ts";
import {
  BUCKET_DOWNLOADS_MAX,
  FOLDER_DOWNLOADS_MAX,
  LIVE_READS_BURST,
  LIVE_READS_PER_SECOND,
  STORED_READS_BURST,
  STORED_READS_PER_SECOND,
  TOKEN_CHECKS_BURST,
  TOKEN_CHECKS_PER_SECOND,
} from "../../http/limits.ts";
import { applicationOrigin } from "../../http/request/application-address.ts";
import { FileDownloads } from "../../http/response/file-downloads.ts";
import type { LogIncomplete } from "../../http/response/streamed-array.ts";
import type { Endpoint } from "../../http/server/endpoint.ts";
import type { Audit } from "../../http/shared/audit.ts";
import { makeRoomWebhookSecrets } from "../../http/shared/room-webhook-secrets.ts";
import type { UsageSources } from "../../http/shared/usage-schemas.ts";
import { HostLinks } from "../../meetings/entrance/host-link.ts";
import { Problem } from "../../protocol/codes.ts";
import { Quota } from "../../realtime/counting/quota.ts";
import { findRoom } from "../../rooms/rooms.ts";
import type { RouteParts } from "./parts.ts";

const { wallMs: nowMs } = systemClock;
/** How long a request for usage waits for what other nodes have counted. */
const GATHER_MS = 1500;

export function usageSources({ store, realtime: { hub, usage, engine } }: RouteParts): UsageSources {
  /** Has a timeout: while the store is unreachable, the response holds what this node knows. */
  const gather = async (app: AppId): Promise<void> => {
    if (store.isShared) await Promise.race([engine.invalidate(app).then(() => usage.flush()), Bun.sleep(GATHER_MS)]);
  };
  return { occupancy: hub.occupancy, usage, gather };
}

export function controlEndpoints(parts: RouteParts, guards: Guards, audit: Audit): Endpoint[] {
  const { directory, keyring, operators, store, recordings, facts, config, sources } = parts;
  const { hub, storeFollower } = parts.realtime;
  const { rotationGraceSeconds } = config;
  const clearDeleted = (): void => {
    recordings.clearDeleted();
    parts.sweeps.apps.soon();
  };
  const reads = parts.throttle("stored-reads", STORED_READS_BURST, STORED_READS_PER_SECOND);
  const lists = rateLimited(guards.operator, reads);
  const limited = { ...guards, operator: lists };
  const tokenChecks = new TokenChecks(
    guards.operator,
    parts.throttle("token-checks", TOKEN_CHECKS_BURST, TOKEN_CHECKS_PER_SECOND),
  );
  return [
    ...appEndpoints(
      { ...guards, lists },
      {
        directory,
        audit,
        nowMs,
        rotationGraceSeconds,
        clearDeleted,
        rulesSettled: async (app) => {
          // A change that another node has just made counts too.
          await storeFollower?.catchUp();
          return parts.ruleChanges.settled(app);
        },
        nodesWithout: nodesWithout(hub.nodeRequests),
      },
    ),
    ...keyEndpoints(
      { ...guards, lists },
      {
        directory,
        keyring,
        audit,
        nowMs,
        rotationGraceSeconds,
        storeFollower,
        connectionsOf: keyConnections(hub.nodeRequests, hub.connections),
        tokenChecks,
      },
    ),
    factsEndpoint(guards.operator, facts),
    ...operatorEndpoints(limited, operators, audit),
    ...backupEndpoints(
      { ...guards, lists },
      {
        service: parts.backups,
        settings: {
          keep: config.backupKeep,
          isEncrypted: config.backupKey !== "",
          hasRecordings: config.backupRecordings,
          hasDatabase: config.databaseUrl === "",
        },
        audit,
        nowMs,
        logIncomplete: (call, error) => parts.pipeline.logIncompleteResponse("/api/internal/v1/backups", call, error),
      },
    ),
    auditEndpoint(lists, store.audit, (idOrName) => keyring.app(idOrName)),
    ...dataEndpoints(lists, { reports: parts.dataReports, appIn: makeAppIn(keyring, directory) }),
    settingsEndpoint(guards.operator, () =>
      shownSettings({ config, sources }, { host: facts().host, nodeId: parts.nodeId }),
    ),
    ...explaining(parts, tokenChecks),
    ...consoleEndpoints(parts, limited, audit),
    ...adminWebhookEndpoints(parts, { ...guards, lists }, audit),
    tailEndpoint(guards.stream, {
      tails: parts.tails,
      appId: (name) => keyring.app(name)?.id,
      clock: parts.realtime.clock,
    }),
    ...liveEndpoints(parts, { ...guards, lists }, audit),
  ];
}

function explaining(parts: RouteParts, tokenChecks: TokenChecks): Endpoint[] {
  const { config, keyring, store, realtime } = parts;
  const { hub, gateway, usage, blocks, keyRate, roomTokens, storeFollower } = realtime;
  const quota = new Quota(keyring, usage);
  const moment = (): Moment => ({
    isDraining: gateway.isDraining,
    connectsPerMinute: config.connectsPerMinutePerIp,
    connectionsOf: (app) => ({
      now: hub.occupancy.connectionsOf(app),
      max: keyring.app(app)?.maxConcurrentConnections ?? null,
    }),
    isQuotaUsedUp: (app) => quota.isUsedUp(spaceOf(app)),
  });
  return explainEndpoints(tokenChecks, { keyring, store, blocks, keyRate, roomTokens, nowMs, moment, storeFollower });
}

/** The control plane's calls about one application. */
function consoleEndpoints(parts: RouteParts, guards: Guards, audit: Audit): Endpoint[] {
  const { keyring, directory, store, metrics, pipeline } = parts;
  const appIn = makeAppIn(keyring, directory);
  const fileDownloads = {
    ofBucket: new FileDownloads(BUCKET_DOWNLOADS_MAX),
    ofFolder: new FileDownloads(FOLDER_DOWNLOADS_MAX),
  };
  metrics.gauge(
    "parley_streamed_files",
    "Recordings that are being sent to operators.",
    () => fileDownloads.ofBucket.size + fileDownloads.ofFolder.size,
  );
  const logIncomplete: LogIncomplete = (call, error) =>
    pipeline.logIncompleteResponse("/api/internal/v1/apps/:app/recordings/:id/file", call, error);
  return [
    ...adminUsageEndpoints(guards.operator, {
      appIn,
      store,
      deletedApp: (id) => store.deletedApp(id),
      history: parts.history,
      ...usageSources(parts),
    }),
    ...adminRecordingEndpoints(guards, {
      appIn,
      recordings: parts.recordings.recordings,
      meetingOf: ({ app, meetingSession }) => parts.store.meetings.meeting(app, meetingSession),
      isRoom: async ({ app, room }) => (await parts.store.rooms.roomById(app, room, nowMs())) !== undefined,
      fileDownloads,
      audit,
      nowMs,
      logIncomplete,
    }),
    ...adminRecordingExtraEndpoints(guards, {
      appIn,
      recordings: parts.recordings.recordings,
      extras: parts.recordings.extras,
    }),
    ...adminRoomEndpoints(guards, {
      appIn,
      rooms: parts.rooms.rooms,
      sessions: parts.meetings.services.sessions,
      audit,
    }),
    ...meetingEndpoints(parts, guards, audit),
  ];
}

function adminWebhookEndpoints(parts: RouteParts, guards: ListGuards, audit: Audit): Endpoint[] {
  const { keyring, directory, config, webhooks } = parts;
  const { endpoints, deliveries, tests } = webhooks;
  const appIn = makeAppIn(keyring, directory);
  const secretsOfRoom = makeRoomWebhookSecrets(parts.rooms.rooms, endpoints);
  const { rotationGraceSeconds } = config;
  return [
    ...webhookEndpoints(guards, { appIn, endpoints, deliveries, rotationGraceSeconds, audit, nowMs }),
    ...webhookDeliveryEndpoints(guards, { appIn, endpoints, deliveries, tests, secretsOfRoom, audit }),
  ];
}

function meetingEndpoints(parts: RouteParts, guards: Guards, audit: Audit): Endpoint[] {
  const { config, keyring, directory, store, rooms, meetings } = parts;
  return adminMeetingEndpoints(guards, {
    appIn: makeAppIn(keyring, directory),
    sessions: meetings.services.sessions,
    acts: meetings.services.acts,
    hostLinks: new HostLinks({ rooms: store.rooms, accessTokens: rooms.accessTokens, nowMs }),
    roomNamed: async (app, idOrName) => {
      const room = await findRoom(store.rooms, app, idOrName, nowMs());
      if (!room) throw new Problem("room_not_found");
      return room.name;
    },
    originOf: (app, call) => applicationOrigin(app, config, call),
    audit,
  });
}

function liveEndpoints(parts: RouteParts, { lists, ...allGuards }: ListGuards & Guards, audit: Audit): Endpoint[] {
  const reads = parts.throttle("live-reads", LIVE_READS_BURST, LIVE_READS_PER_SECOND);
  const guards = { ...allGuards, operator: rateLimited(allGuards.operator, reads) };
  const { nodeId, keyring, directory, store, realtime } = parts;
  const { hub, live, blocks } = realtime;
  const appIn = makeAppIn(keyring, directory);
  const ofPeers = { kicks: hub.kicks, store, blocks, auditLog: store.audit, nowMs, appIn, audit };
  return [
    nodesEndpoint(guards.operator, hub.nodeRequests),
    ...seriesEndpoints(guards.operator, {
      nodeId,
      keyring,
      nodeRequests: hub.nodeRequests,
      series: hub.sampling.series,
    }),
    keyTrafficEndpoint(guards.operator, {
      series: hub.sampling.series,
      keys: hub.sampling.keys,
      nodeRequests: hub.nodeRequests,
      appIn,
    }),
    refusalsEndpoint(guards.operator, {
      refusals: live.refusals,
      appOf: (idOrName) => keyring.app(idOrName),
    }),
    ...liveChannelEndpoints(guards, { publishing: hub.publishing, channels: live.channels, keyring, appIn, audit }),
    ...adminHistoryEndpoints(guards, { pages: hub.pages, streams: hub.streams, appIn, audit }),
    ...adminStreamEndpoints(
      { ...guards, lists },
      {
        store: parts.history.created,
        calls: hub.streams.calls,
        created: hub.created,
        rules: hub.streams,
        live: live.streams,
        appIn,
        audit,
      },
    ),
    channelRuleEndpoint(guards.operator, { appIn, keyring, store }),
    ...livePeerEndpoints(guards, { ...ofPeers, directs: hub.directs, peers: live.peers }),
    ...blockEndpoints(guards, ofPeers),
  ];
}
