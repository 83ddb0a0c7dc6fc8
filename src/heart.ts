/** The realtime half of a node, put together. */
import { Blocks } from "./access/blocks.ts";
import type { Keyring } from "./access/keyring.ts";
import { Throttle } from "./access/throttle.ts";
import type { Config } from "./config/settings.ts";
import type { Engine } from "./engine/engine.ts";
import { Exchange } from "./engine/local.ts";
import { systemClock as clock } from "./realtime/clock.ts";
import { Dispatch } from "./realtime/dispatch.ts";
import { Figures } from "./realtime/figures.ts";
import { Gateway } from "./realtime/gateway.ts";
import { Hub } from "./realtime/hub.ts";
import type { Broadcast } from "./realtime/socket.ts";
import { Usage } from "./realtime/usage.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import type { Metrics } from "./telemetry/metrics.ts";

export interface Heart {
  readonly hub: Hub;
  readonly gateway: Gateway;
  readonly usage: Usage;
  readonly blocks: Blocks;
  readonly engine: Engine;
}

export async function buildHeart(
  config: Config,
  nodeId: string,
  log: Log,
  store: Store,
  keyring: Keyring,
  metrics: Metrics,
  broadcast: Broadcast,
): Promise<Heart> {
  const figures = new Figures(metrics);
  const usage = new Usage(store, clock, log);
  await usage.load();
  const blocks = new Blocks();
  blocks.load(await store.blocks(clock.nowMs()));
  const engine = new Exchange().engine();
  const { presenceTickMs, framesPerSecond, framesBurst, maxPendingBytes } = config;
  const hub = new Hub({ id: nodeId, clock, engine, keyring, usage, figures, broadcast, presenceTickMs, framesBurst });
  keyring.onChange((keyId) => hub.keyChanged(keyId));
  metrics.gauge("parley_connections", "Open connections.", () => hub.connections);
  metrics.gauge("parley_channels", "Channels with subscribers.", () => hub.channelCount);
  const dispatch = new Dispatch({ hub, keyring, usage, figures, clock, rates: { framesPerSecond, framesBurst } });
  const perMinute = config.connectsPerMinutePerIp;
  const connects = new Throttle(perMinute, perMinute / 60, clock.monotonicMs);
  const gateway = new Gateway({ hub, dispatch, keyring, blocks, connects, figures, clock, maxPendingBytes });
  return { hub, gateway, usage, blocks, engine };
}
