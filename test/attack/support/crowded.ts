/**
 * The realtime half of a node on a real port, in this process: sockets, kernel buffers and time are real. Every channel has
 * many members on another node, which exist only in the engine: as many real ones would take gigabytes.
 */
import { Blocks } from "../../../src/access/blocks.ts";
import { Throttle } from "../../../src/access/throttle.ts";
import type { Engine, MemberState, RemoteMembers } from "../../../src/engine/engine.ts";
import { Exchange } from "../../../src/engine/local.ts";
import { systemClock as clock } from "../../../src/realtime/clock.ts";
import { Dispatch } from "../../../src/realtime/dispatch.ts";
import { Gateway, type SocketData } from "../../../src/realtime/gateway.ts";
import { Hub } from "../../../src/realtime/hub.ts";
import { noFaults, World } from "../../../src/realtime/testing/kit.ts";

export interface CrowdedOptions {
  readonly members: number;
  readonly metadataBytes: number;
  readonly maxPendingBytes: number;
}

export interface CrowdedNode {
  readonly url: string;
  readonly hub: Hub;
  stop(): Promise<void>;
}

/** Every client that connects is the peer `reader`. */
export function startCrowded({ members, metadataBytes, maxPendingBytes }: CrowdedOptions): CrowdedNode {
  // Its own node is not used: only keys and metrics are taken from it.
  const world = new World();
  const { keyring } = world;
  const { usage, metrics } = world.node;
  const metadataJson = JSON.stringify("m".repeat(metadataBytes - 2));
  const states: MemberState[] = Array.from({ length: members }, (_, i) => ({
    peerId: `member${i}`,
    metadataJson,
    since: i + 1,
  }));
  const engine: Engine = Object.assign(new Exchange().engine(), {
    watch: (_app: string, _channel: string, found: (members: RemoteMembers) => void) =>
      found(new Map([["elsewhere", states]])),
  });
  const blocks = new Blocks();
  const rates = { framesPerSecond: 0, framesBurst: 500 };
  const hub = new Hub({
    id: "node",
    clock,
    engine,
    keyring,
    blocks,
    usage,
    metrics,
    faults: noFaults,
    broadcast: (topic, text, except) => (except ? except.publish(topic, text) : server.publish(topic, text)),
    presenceTickMs: 10,
    framesBurst: rates.framesBurst,
    maxPendingBytes,
    nudged: async () => {},
  });
  const dispatch = new Dispatch({ hub, metrics, clock, rates });
  const connects = new Throttle(0, 0, clock.monotonicMs);
  const gateway = new Gateway({
    hub,
    engine,
    dispatch,
    keyring,
    blocks,
    connects,
    keyRate: connects,
    metrics,
    faults: noFaults,
    clock,
    maxPendingBytes,
    news: undefined,
  });
  const server = Bun.serve<SocketData>({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, upgrading) =>
      upgrading.upgrade(request, { data: { grant: world.grant("reader") } }) ? undefined : new Response(null),
    websocket: gateway.handlers(),
  });
  return { url: `http://127.0.0.1:${server.port}`, hub, stop: () => server.stop(true) };
}
