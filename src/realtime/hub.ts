/**
 * Composition root of realtime/: builds each component from the ones before it, and registers their observers.
 */
import type { Blocks } from "../access/admission/blocks.ts";
import type { Keyring } from "../access/keys/keyring.ts";
import { roomSpaceOf } from "../access/keys/room-space.ts";
import type { RoomSeat } from "../access/tokens/room-token.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine, EngineCallbacks, NodeId } from "../engine/engine.ts";
import { NodeRequests } from "../engine/node-requests.ts";
import type { HistoryStore } from "../history/contract/history.ts";
import { PUT_OUT } from "../protocol/put-out.ts";
import type { HeldMemberStore } from "../store/contract/held-members.ts";
import type { FaultLog } from "../telemetry/faults.ts";
import { safely } from "../telemetry/safely.ts";
import { SAMPLE_EVERY_MS } from "../telemetry/series.ts";
import { Boundary } from "./connections/boundary.ts";
import { Connections } from "./connections/connections.ts";
import { Deadlines } from "./connections/deadlines.ts";
import { Holds } from "./connections/holds.ts";
import type { IceServersOf } from "./connections/ice-servers.ts";
import { Liveness } from "./connections/liveness.ts";
import type { Rates } from "./connections/rates.ts";
import type { RoomGate } from "./connections/room-gate.ts";
import { EngineBoundary } from "./control/engine-boundary.ts";
import { EngineHandler } from "./control/engine-handler.ts";
import { KeyChanges } from "./control/key-changes.ts";
import { Kicks } from "./control/kicks.ts";
import type { RealtimeMetrics } from "./counting/metrics.ts";
import { RateWindow } from "./counting/rate-window.ts";
import { Sampling } from "./counting/sampling.ts";
import type { Usage } from "./counting/usage.ts";
import { Emitter } from "./events/emitter.ts";
import { RealtimeEvents } from "./events/events.ts";
import { Recorder } from "./events/recorder.ts";
import { Delivery } from "./messages/delivery.ts";
import { Directs } from "./messages/directs.ts";
import { type AnnounceParts, announce } from "./presence/announce.ts";
import { Notes } from "./presence/notes.ts";
import { Occupancy } from "./presence/occupancy.ts";
import { OccupancyFrames } from "./presence/occupancy-frames.ts";
import { Presence } from "./presence/presence.ts";
import { partMaxBytesOf } from "./presence/rosters.ts";
import { States } from "./presence/states.ts";
import type { Connection } from "./state/connection.ts";
import type { Broadcast } from "./state/socket.ts";
import { Spaces } from "./state/spaces.ts";
import { HistoryFrames } from "./streams/history-frames.ts";
import { HistoryPages } from "./streams/pages.ts";
import { Publishing } from "./streams/publishing.ts";
import { Replays } from "./streams/replays.ts";
import { StreamRules } from "./streams/stream-rules.ts";
import { Streams } from "./streams/streams.ts";
import { Tops } from "./streams/tops.ts";
import { Channels } from "./subscriptions/channels.ts";
import { Narrowing } from "./subscriptions/narrowing.ts";

export interface HubParts {
  /** Where members are noted that this node holds when it stops; absent in tests that do not restart. */
  readonly heldMembers?: HeldMemberStore | undefined;
  readonly id: NodeId;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly history: HistoryStore;
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly broadcast: Broadcast;
  readonly presenceTickMs: number;
  readonly rates: Rates;
  /** Bytes that may wait for one connection before it is cut. */
  readonly maxPendingBytes: number;
  /** Called when another node announces a change: reload shared state and, if `app` is given, flush its usage. */
  readonly nudged: (app?: string) => Promise<void>;
  /** Decides about people in rooms. */
  readonly roomGate: RoomGate;
  /** For keys with `turn` and for people in rooms; absent: there are none. */
  readonly iceServersOf?: IceServersOf | undefined;
  /** Calls back when what has arrived already has been read from its sockets; absent: at the end of the turn. */
  readonly defer?: (callback: () => void) => void;
}

export class Hub {
  readonly events = new RealtimeEvents();
  readonly rateWindow: RateWindow;
  /** Started with the node. */
  readonly sampling: Sampling;
  readonly recorder: Recorder;
  readonly emitter: Emitter;
  /** What operators ask of all nodes. */
  readonly nodeRequests: NodeRequests;
  readonly spaces: Spaces;
  readonly connections: Connections;
  /** Peers that are expected back. */
  readonly holds: Holds;
  /** Held members over the end of a node. */
  readonly notes: Notes;
  readonly boundary: Boundary;
  readonly presence: Presence;
  readonly channels: Channels;
  readonly states: States;
  readonly delivery: Delivery;
  readonly directs: Directs;
  readonly streams: Streams;
  readonly replays: Replays;
  readonly publishing: Publishing;
  readonly pages: HistoryPages;
  readonly historyFrames: HistoryFrames;
  readonly occupancy: Occupancy;
  readonly kicks: Kicks;
  readonly liveness: Liveness;
  readonly deadlines: Deadlines;
  readonly narrowing: Narrowing;
  readonly engineCallbacks: EngineCallbacks;

  private readonly announcing: AnnounceParts;

  constructor(parts: HubParts) {
    const { clock, engine, keyring, metrics } = parts;
    this.announcing = { engine, clock };
    const nodeRequests = new NodeRequests(engine, parts.id);
    const { traffic } = metrics;
    const rateWindow = new RateWindow(SAMPLE_EVERY_MS, clock.monotonicMs());
    const sampling = new Sampling(clock, traffic, rateWindow);
    const spaces = new Spaces(parts.id, engine, traffic, rateWindow, parts.usage);
    const recorder = new Recorder(clock, spaces);
    const emitter = new Emitter({ ...parts, events: this.events, recorder, traffic });
    const holds = new Holds({ ...parts, spaces });
    const connections = new Connections({ ...parts, spaces, emitter, holds });
    const boundary = new Boundary({ ...parts, spaces, connections });
    const presence = new Presence({
      ...parts,
      spaces,
      connections,
      boundary,
      emitter,
      holds,
      returned: (peer) => directs.returned(peer),
    });
    const { lingering } = presence;
    const notes = new Notes({ ...parts, spaces, holds, lingering, nodeRequests });
    const delivery = new Delivery({ ...parts, spaces, presence, emitter });
    const directs = new Directs({ ...parts, spaces, presence, emitter, holds, delivery });
    const { defer = setImmediate } = parts;
    const streams = new Streams({ ...parts, spaces, delivery, boundary, defer });
    const tops = new Tops({ ...parts, streams, spaces, boundary });
    const replays = new Replays({ ...parts, streams, boundary, connections });
    const publishing = new Publishing({ ...parts, streams, delivery, spaces, boundary, defer });
    const pages = new HistoryPages({ ...parts, streams, maxBytes: partMaxBytesOf(parts.maxPendingBytes) });
    const occupancyFrames = new OccupancyFrames({ ...parts, nodeRequests, spaces });
    const channels = new Channels({
      engine,
      keyring,
      notes,
      spaces,
      presence,
      boundary,
      emitter,
      streams,
      replays,
      clock,
      occupancyFrames,
    });
    const occupancy = new Occupancy(spaces, engine, clock);
    const kicks = new Kicks({ ...parts, spaces, connections, lingering, holds, notes, directs });
    const deadlines = new Deadlines(clock, boundary, connections);
    const liveness = new Liveness(clock, boundary, connections, metrics);
    // In this order: subscriptions end before anything else of their connection is forgotten.
    for (const observer of [channels, deadlines, liveness]) connections.observe(observer);
    const leftRoom = ({ id, departure }: Connection, seat: RoomSeat): void =>
      safely(parts.faults, "socket", () => parts.roomGate.disconnected(seat, id, departure));
    connections.observe({
      connected: ({ peer, peerId }) => directs.waiting.returned(peer.space.app, peerId),
      disconnected: (connection) => directs.early.ended(connection),
    });
    connections.observe({
      disconnected: (connection) => connection.seat && leftRoom(connection, connection.seat),
    });
    const narrowing = new Narrowing({ ...parts, channels, emitter });
    const keyChanges = new KeyChanges({ ...parts, deadlines, boundary, connections, lingering, holds, narrowing });
    // Participants of its rooms have no key that would be revoked.
    keyring.onDeletion((app) => {
      for (const peer of [...(spaces.get(roomSpaceOf(app))?.peers.keys() ?? [])])
        kicks.kickHere(roomSpaceOf(app), peer, PUT_OUT.ended);
    });
    keyring.onRulesChange((app) => channels.rulesChanged(app));
    keyring.onChange((keyId) => keyChanges.apply(keyId));
    const streamRules = new StreamRules({ ...parts, streams, spaces, connections, boundary });
    const handler = new EngineHandler({
      ...parts,
      streamRules,
      spaces,
      delivery,
      directs,
      presence,
      occupancy,
      kicks,
      notes,
      holds,
      boundary,
      nodeRequests,
    });
    this.engineCallbacks = new EngineBoundary({ ...parts, handler, boundary, spaces, tops });
    this.streams = streams;
    this.replays = replays;
    this.publishing = publishing;
    this.pages = pages;
    this.historyFrames = new HistoryFrames({ ...parts, pages, boundary });
    this.rateWindow = rateWindow;
    this.sampling = sampling;
    this.recorder = recorder;
    this.emitter = emitter;
    this.nodeRequests = nodeRequests;
    this.spaces = spaces;
    this.connections = connections;
    this.holds = holds;
    this.notes = notes;
    this.boundary = boundary;
    this.presence = presence;
    this.channels = channels;
    this.states = new States({ ...parts, presence, emitter, spaces, nodeRequests });
    this.delivery = delivery;
    this.directs = directs;
    this.occupancy = occupancy;
    this.kicks = kicks;
    this.liveness = liveness;
    this.deadlines = deadlines;
    this.narrowing = narrowing;
    engine.attach(this.engineCallbacks);
  }

  /** Members and peers that the service closes from now on are expected back until then, steady ms, or for as long as usual. */
  holdUntilMs(ms: number): void {
    this.holds.atLeastUntilMs = ms;
    this.presence.lingering.heldAtLeastUntilMs = ms;
  }

  /**
   * This node leaves the others: they must know which of its members are expected back, or those would be seen to leave. The tick
   * that would announce them may come too late, in a large channel by half a second.
   */
  announceChanges(): void {
    for (const { channels } of this.spaces.all())
      for (const channel of [...channels.values()])
        if (channel.changed.size > 0)
          this.boundary.forChannel("timer", channel, () => announce(this.announcing, channel, [...channel.changed]));
  }
}
