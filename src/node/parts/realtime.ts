/** Builds the realtime part of a node: connections, channels and the engine that joins it to other nodes. */
import { fullGC } from "bun:jsc";
import { randomUUID } from "node:crypto";
import type { WebSocketHandler } from "bun";
import { Blocks } from "../../access/admission/blocks.ts";
import { StoreFollower } from "../../access/admission/store-follower.ts";
import { holderDigest } from "../../access/keys/address-digest.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import { decodeWithdrawn, type Withdrawn } from "../../access/keys/withdrawn.ts";
import type { EventSessionNames } from "../../access/tokens/event-session.ts";
import type { RoomTokens } from "../../access/tokens/room-token.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { type AppId, appOfSpace, spaceOf } from "../../base/ids.ts";
import type { Throttle } from "../../base/throttle.ts";
import type { Engine } from "../../engine/engine.ts";
import { assembleRealtime } from "../../realtime/build.ts";
import { IdleCollection, processCpuMs, processHeapBytes } from "../../realtime/connections/idle-collection.ts";
import type { RoomHooks } from "../../realtime/connections/room-hooks.ts";
import { RealtimeMetrics } from "../../realtime/counting/metrics.ts";
import { Usage } from "../../realtime/counting/usage.ts";
import { EventTopics } from "../../realtime/event-sockets/event-topics.ts";
import type { Gateway, Room } from "../../realtime/frames/gateway.ts";
import type { SocketData, SocketEvents } from "../../realtime/frames/socket-handlers.ts";
import type { Hub } from "../../realtime/hub.ts";
import { Live } from "../../realtime/operators/live/live.ts";
import type { Broadcast } from "../../realtime/state/socket.ts";
import type { Snapshot } from "../../store/contract/store.ts";
import { guardedClock } from "../../telemetry/guarded-clock.ts";
import type { NodeContext } from "./context.ts";
import { connectEngine } from "./engine.ts";
import { buildEvents, type Events } from "./events.ts";
import type { TurnService } from "./turn.ts";

export interface Realtime {
  readonly hub: Hub;
  /** What operators see of channels and peers. */
  readonly live: Live;
  readonly gateway: Gateway;
  readonly handlers: WebSocketHandler<SocketData> & SocketEvents;
  /** Connections over HTTP. */
  readonly events: Events;
  /** Catches and counts what its callbacks throw. */
  readonly clock: Clock;
  /** Rate per secret key: REST requests, and the work of checking its tokens. */
  readonly keyRate: Throttle;
  /** Rate of connects per address. */
  readonly connects: Throttle;
  readonly usage: Usage;
  readonly blocks: Blocks;
  readonly roomTokens: RoomTokens;
  readonly engine: Engine;
  /** Present if other nodes write to the same store. */
  readonly storeFollower: StoreFollower | undefined;
}

interface RealtimeParts extends NodeContext {
  readonly keyring: Keyring;
  readonly roomTokens: RoomTokens;
  readonly roomHooks: RoomHooks;
  readonly turn: TurnService;
  readonly room: Room;
  /** Writes to the sockets of the public listener. */
  readonly broadcast: Broadcast;
  readonly eventSessionNames: EventSessionNames;
  /** Called when another node's changes have been read. */
  readonly snapshotLoaded: (snapshot: Snapshot) => void;
  /** Called when another node has taken something away, before the store is read. */
  readonly withdrawn: (one: Withdrawn) => void;
}

/** A block comes with a kick, which counts what it closes. Only if that one is lost, the block itself closes the connections. */
const KICK_AFTER_MS = 250;

export async function buildRealtime(context: RealtimeParts): Promise<Realtime> {
  const { config, log, store, metrics, faults, keyring, snapshotLoaded, withdrawn, roomTokens, roomHooks } = context;
  const clock = guardedClock(systemClock, faults);
  const usage = new Usage(store, clock, log);
  await usage.load();
  const blocks = new Blocks();
  blocks.load(await store.blocks(clock.wallMs()));
  const engine = await connectEngine(context);
  const { presenceTickMs, framesPerSecond, framesBurst, maxPendingBytes } = config;
  // One per process: two processes with the same PARLEY_NODE_ID must stay distinct.
  const id = randomUUID();
  const blockedPeers = new BlockedPeers();
  const storeFollower = store.isShared
    ? new StoreFollower({
        store,
        keyring,
        blocks,
        clock,
        changed: snapshotLoaded,
        withdrawn,
        unconfirmed: (one) =>
          log.warn(
            { what: one.kind },
            "another node revoked a permission: this node refuses it until the store answers",
          ),
        blocked: (app, peerId) => blockedPeers.add(app, peerId),
        unreachable: (err) => log.error({ err }, "the store is not responding; keys stay as they were last read"),
        reachable: () => log.info("the store answers again"),
      })
    : undefined;
  if (storeFollower)
    metrics.gauge("parley_store_up", "Whether the shared store responds.", () => Number(storeFollower.isUp));
  const invalidated = async (app?: AppId, taken?: string): Promise<void> => {
    const named = taken === undefined ? undefined : decodeWithdrawn(taken);
    await Promise.all([storeFollower?.readNow(named), app !== undefined && usage.flush()]);
  };
  const perMinute = config.connectsPerMinutePerIp;
  const perSecond = config.restRequestsPerSecond;
  const keyRate = context.throttle("key", perSecond, perSecond);
  const connects = context.throttle("connects", perMinute, perMinute / 60);
  const realtimeMetrics = new RealtimeMetrics(metrics);
  const topics = new EventTopics(context.broadcast);
  const { hub, gateway, handlers } = assembleRealtime({
    id,
    heldMembers: store.heldMembers,
    clock,
    engine,
    history: context.history,
    keyring,
    blocks,
    usage,
    metrics: realtimeMetrics,
    faults,
    broadcast: topics.broadcast,
    presenceTickMs,
    rates: { framesPerSecond, framesBurst },
    maxPendingBytes,
    invalidated,
    connects,
    keyRate,
    storeFollower,
    roomTokens,
    roomHooks,
    room: context.room,
    iceServersOf: ({ spaceId, peerId, seat }, client) => {
      const { turn } = context.turn;
      const servers = seat
        ? turn.iceServersOfStay(seat.claims, holderDigest(client))
        : turn.iceServersFor(appOfSpace(spaceId), peerId, clock.wallMs());
      return servers.length === 0 ? undefined : JSON.stringify(servers);
    },
  });
  const connections = (): number => hub.connections.count;
  hub.connections.observe(
    new IdleCollection({ clock, cpuMs: processCpuMs, connections, heapBytes: processHeapBytes, collect: fullGC }),
  );
  blockedPeers.onAdd((app, peerId) => clock.after(KICK_AFTER_MS, () => void hub.kicks.kickHere(spaceOf(app), peerId)));
  metrics.gauge("parley_connections", "Open connections.", () => hub.connections.count);
  metrics.gauge(
    "parley_channels",
    "Channels with subscribers, per process: one with subscribers on two workers counts twice.",
    () => hub.spaces.channelCount,
  );
  metrics.gauge(
    "parley_lingering_members",
    "Members without a connection that are still shown.",
    () => hub.expectedBack.counts.members,
  );
  metrics.gauge(
    "parley_held_peers",
    "Peers whose connection the service has closed and expects back.",
    () => hub.expectedBack.counts.peers,
  );
  metrics.gauge(
    "parley_waiting_sends",
    "Direct messages that wait for such a peer.",
    () => hub.expectedBack.counts.sends,
  );
  const { nodeRequests } = hub;
  const names = context.eventSessionNames;
  const events = buildEvents({
    config,
    faults,
    metrics,
    names,
    topics,
    handlers,
    realtimeMetrics,
    nodeRequests,
    clock,
  });
  const live = new Live(hub, clock, context.nodeId);
  const rates = { keyRate, connects };
  return { hub, live, gateway, handlers, events, clock, ...rates, usage, blocks, roomTokens, engine, storeFollower };
}

/**
 * Peers that other nodes have blocked, on their way from the follower to the hub. The hub needs the follower, so the
 * follower is built first and reports here; it reports nothing before it is started.
 */
class BlockedPeers {
  private listener: (app: AppId, peerId: string) => void = () => undefined;

  onAdd(listener: (app: AppId, peerId: string) => void): void {
    this.listener = listener;
  }

  add(app: AppId, peerId: string): void {
    this.listener(app, peerId);
  }
}
