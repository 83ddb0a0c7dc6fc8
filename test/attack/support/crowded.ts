/**
 * The realtime half of a node on a real port, in this process: sockets, kernel buffers and time are real. Every channel has
 * many members on another node, which exist only in the engine: as many real ones would take gigabytes.
 */
import { Blocks } from "../../../src/access/admission/blocks.ts";
import { systemClock as clock } from "../../../src/base/clock.ts";
import { Throttle } from "../../../src/base/throttle.ts";
import type { Engine, MemberState, RemoteMembers } from "../../../src/engine/engine.ts";
import { Exchange } from "../../../src/engine/local.ts";
import { assembleRealtime } from "../../../src/realtime/build.ts";
import { NO_ROOMS } from "../../../src/realtime/connections/room-hooks.ts";
import type { SocketData } from "../../../src/realtime/frames/socket-handlers.ts";
import type { Hub } from "../../../src/realtime/hub.ts";
import { World } from "../../../src/realtime/testing/kit.ts";
import { noFaults, noHistory } from "../../../src/realtime/testing/stubs.ts";

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
  const { keyring } = world.keys;
  const { usage, metrics } = world.node;
  const metadataJson = JSON.stringify("m".repeat(metadataBytes - 2));
  const states: MemberState[] = Array.from({ length: members }, (_, i) => ({
    peerId: `member${i}`,
    metadataJson,
    since: i + 1,
    node: "elsewhere",
  }));
  const engine: Engine = Object.assign(new Exchange().engine(), {
    watch: (_app: string, _channel: string, found: (members: RemoteMembers) => void) =>
      found(new Map([["elsewhere", states]])),
  });
  const { hub, handlers } = assembleRealtime({
    id: "node",
    clock,
    engine,
    keyring,
    blocks: new Blocks(),
    usage,
    metrics,
    faults: noFaults,
    history: noHistory,
    broadcast: (topic, text, except) => (except ? except.publish(topic, text) : server.publish(topic, text)),
    presenceTickMs: 10,
    rates: { framesPerSecond: 0, framesBurst: 500 },
    maxPendingBytes,
    invalidated: async () => {},
    roomHooks: NO_ROOMS,
    connects: new Throttle(0, 0, clock.monotonicMs),
    keyRate: new Throttle(0, 0, clock.monotonicMs),
    storeFollower: undefined,
    room: { hasRoom: () => true },
  });
  const server = Bun.serve<SocketData>({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, upgrading) =>
      upgrading.upgrade(request, { data: { grant: world.keys.grant("reader"), client: [127, 0, 0, 1] } })
        ? undefined
        : new Response(null),
    websocket: handlers,
  });
  return { url: `http://127.0.0.1:${server.port}`, hub, stop: () => server.stop(true) };
}
