/** The realtime half of a node, put together. */
import { randomUUID } from "node:crypto";
import { Blocks } from "../access/blocks.ts";
import { Follow } from "../access/follow.ts";
import type { Keyring } from "../access/keyring.ts";
import { Throttle } from "../access/throttle.ts";
import { ConfigError } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import { NatsEngine } from "../engine/cluster/cluster-engine.ts";
import type { Engine } from "../engine/engine.ts";
import { Exchange } from "../engine/local.ts";
import { type Clock, guardedClock, systemClock } from "../realtime/clock.ts";
import { Dispatch } from "../realtime/dispatch.ts";
import { Gateway } from "../realtime/gateway.ts";
import { Hub } from "../realtime/hub.ts";
import { RealtimeMetrics } from "../realtime/metrics.ts";
import type { Broadcast } from "../realtime/socket.ts";
import { Usage } from "../realtime/usage.ts";
import type { Snapshot, Store } from "../store/store.ts";
import type { Faults } from "../telemetry/faults.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

export interface Heart {
  readonly hub: Hub;
  readonly gateway: Gateway;
  /** With a boundary around what it calls. */
  readonly clock: Clock;
  /** Requests of secret keys, over REST; and the work of checking their tokens. */
  readonly keyRate: Throttle;
  readonly usage: Usage;
  readonly blocks: Blocks;
  readonly engine: Engine;
  /** Where other nodes write to the store too. */
  readonly follow: Follow | undefined;
}

export async function buildHeart(
  config: Config,
  nodeId: string,
  log: Log,
  store: Store,
  keyring: Keyring,
  metrics: Metrics,
  faults: Faults,
  broadcast: Broadcast,
  changed: (snapshot: Snapshot) => void,
): Promise<Heart> {
  const clock = guardedClock(systemClock, faults);
  const realtimeMetrics = new RealtimeMetrics(metrics);
  const usage = new Usage(store, clock, log);
  await usage.load();
  const blocks = new Blocks();
  blocks.load(await store.blocks(clock.nowMs()));
  const engine = await engineOf(config, nodeId, log, metrics, faults);
  const { presenceTickMs, framesPerSecond, framesBurst, maxPendingBytes } = config;
  // Of this life of the process: two with the same PARLEY_NODE_ID are still two.
  const id = randomUUID();
  const follow = store.isShared
    ? new Follow({
        store,
        keyring,
        blocks,
        clock,
        changed,
        blocked: (app, peerId) => hub.kicked(app, peerId),
        away: (err) => log.error({ err }, "the store does not answer; what is known of keys stays in force"),
        back: () => log.info("the store answers again"),
      })
    : undefined;
  if (follow) metrics.gauge("parley_store_up", "Whether the shared store answers.", () => Number(follow.isUp));
  const nudged = async (app?: string): Promise<void> => {
    await Promise.all([follow?.nudge(), app !== undefined && usage.flush()]);
  };
  const parts = {
    id,
    clock,
    engine,
    keyring,
    usage,
    metrics: realtimeMetrics,
    faults,
    broadcast,
    presenceTickMs,
    framesBurst,
    maxPendingBytes,
  };
  const hub = new Hub({ ...parts, blocks, nudged });
  keyring.onChange((keyId) => hub.keyChanged(keyId));
  metrics.gauge("parley_connections", "Open connections.", () => hub.connections);
  metrics.gauge("parley_channels", "Channels with subscribers.", () => hub.channelCount);
  const dispatch = new Dispatch({
    hub,
    keyring,
    usage,
    metrics: realtimeMetrics,
    clock,
    rates: { framesPerSecond, framesBurst },
  });
  const perMinute = config.connectsPerMinutePerIp;
  const connects = new Throttle(perMinute, perMinute / 60, clock.monotonicMs);
  const news = follow;
  const perSecond = config.restRequestsPerSecond;
  const keyRate = new Throttle(perSecond, perSecond, clock.monotonicMs);
  const limits = { connects, keyRate, maxPendingBytes };
  const gateway = new Gateway({
    hub,
    dispatch,
    keyring,
    blocks,
    metrics: realtimeMetrics,
    faults,
    clock,
    news,
    ...limits,
  });
  return { hub, gateway, clock, keyRate, usage, blocks, engine, follow };
}

/** Alone, or joined to the nodes on the same NATS. */
async function engineOf(config: Config, nodeId: string, log: Log, metrics: Metrics, faults: Faults): Promise<Engine> {
  const { natsUrl, natsPrefix } = config;
  if (natsUrl === "") return new Exchange().engine();
  let engine: NatsEngine;
  try {
    engine = await NatsEngine.connect({
      url: natsUrl,
      name: `parley ${nodeId}`,
      prefix: natsPrefix,
      warn: (text) => log.warn(text),
      fault: (error, context) => faults.caught("engine", error, context),
      changed: (isUp) => (isUp ? log.info("NATS is back") : log.error("NATS is away: other nodes cannot be reached")),
    });
  } catch (error) {
    // The address may hold a credential: it is not shown.
    throw new ConfigError(`PARLEY_NATS_URL: no server there lets us in: ${(error as Error).message}`);
  }
  metrics.gauge("parley_other_nodes", "Other nodes that this one hears.", () => engine.others);
  metrics.gauge("parley_nats_up", "Whether NATS is connected.", () => Number(engine.isUp));
  return engine;
}
