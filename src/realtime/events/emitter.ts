/**
 * Reports what happens on this node: lifecycle events to the counters, the flight recorder and the list of refusals, and everything to the listener of
 * RealtimeEvents while there is one. Nothing here throws: a listener that fails must not harm the connection it looks at.
 */
import type { KnownOfClient } from "../../access/tokens/token-refusal.ts";
import { type Address, addressText } from "../../base/address.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Code } from "../../protocol/codes.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Traffic } from "../../telemetry/traffic.ts";
import type { Connection } from "../state/connection.ts";
import type { ConnectRefusal, RealtimeEvents, RealtimeListener } from "./events.ts";
import type { Recorder } from "./recorder.ts";
import type { Refusals } from "./refusals.ts";

interface EmitterParts {
  readonly events: RealtimeEvents;
  readonly recorder: Recorder;
  readonly refusals: Refusals;
  readonly traffic: Traffic;
  readonly faults: FaultLog;
}

/** Also the answers to a revoked key. Bound: never changes. */
const OF_UNKNOWN_KEY: ReadonlySet<string> = new Set<Code>(["unauthorized", "invalid_token"]);

export class Emitter {
  /** Whether there is a listener is checked before `published` and `sent`, which happen with every frame. */
  readonly events: RealtimeEvents;
  private readonly recorder: Recorder;
  private readonly refusals: Refusals;
  private readonly traffic: Traffic;
  private readonly faults: FaultLog;

  constructor({ events, recorder, refusals, traffic, faults }: EmitterParts) {
    this.events = events;
    this.recorder = recorder;
    this.refusals = refusals;
    this.traffic = traffic;
    this.faults = faults;
  }

  connected(connection: Connection): void {
    connection.peer.space.counters.connects++;
    connection.keyCounters.connects++;
    this.recorder.connected(connection);
    try {
      this.events.listener?.connected(connection);
    } catch (error) {
      this.faults.caught("socket", error);
    }
  }

  /** `answered`: what the client gets. `origin`: as the client has sent it. */
  refused(answered: ConnectRefusal, known: KnownOfClient, client: Address, origin: string | null = null): void {
    const { app, keyId, peerId, offered } = known;
    const code = known.isRevoked && OF_UNKNOWN_KEY.has(answered) ? "key_revoked" : answered;
    (app === undefined ? this.traffic.unknown : this.traffic.of(app)).refused(code);
    if (app !== undefined && keyId !== undefined) this.traffic.keys.of(app, keyId).refusedInAll++;
    this.recorder.refused(code, known);
    const refused = { code, app, keyId, peerId, offered, address: addressText(client), origin };
    this.refusals.connect(refused);
    this.report((listener) => listener.refused(refused));
  }

  subscribed(connection: Connection, channel: string): void {
    this.recorder.subscribed(connection, channel);
    try {
      this.events.listener?.subscribed(connection, channel);
    } catch (error) {
      this.faults.caught("socket", error);
    }
  }

  unsubscribed(connection: Connection, channel: string): void {
    this.recorder.unsubscribed(connection, channel);
    this.report((listener) => listener.unsubscribed(connection, channel));
  }

  published(
    spaceId: SpaceId,
    channel: string,
    from: string,
    dataJson: string,
    connection: Connection | undefined,
  ): void {
    try {
      this.events.listener?.published(spaceId, channel, from, dataJson, connection);
    } catch (error) {
      this.faults.caught("socket", error);
    }
  }

  sent(spaceId: SpaceId, to: string, from: string, dataJson: string, connection: Connection | undefined): void {
    try {
      this.events.listener?.sent(spaceId, to, from, dataJson, connection);
    } catch (error) {
      this.faults.caught("socket", error);
    }
  }

  presence(spaceId: SpaceId, channel: string, peerId: string, change: "joined" | "left"): void {
    this.report((listener) => listener.presence(spaceId, channel, peerId, change));
  }

  /** A member has said something else about itself. */
  stateSet(connection: Connection, channel: string, stateJson: string): void {
    this.recorder.stateSet(connection, channel);
    this.report((listener) => listener.stateSet(connection, channel, stateJson));
  }

  /** `keyId`: the key before. */
  renewed(connection: Connection, keyId: string): void {
    this.recorder.renewed(connection, keyId);
    this.report((listener) => listener.renewed(connection));
  }

  failed(connection: Connection, code: Code, channel: string | undefined): void {
    connection.peer.space.counters.errors++;
    connection.keyCounters.errors++;
    this.recorder.failed(connection, code, channel);
    this.refusals.frame(connection, code, channel);
    this.report((listener) => listener.failed(connection, code, channel));
  }

  closed(connection: Connection, code: number): void {
    this.recorder.closed(connection, code);
    try {
      this.events.listener?.closed(connection, code);
    } catch (error) {
      this.faults.caught("socket", error);
    }
  }

  /** For events that are rarer than connects: each call makes a closure, also without a listener. */
  private report(to: (listener: RealtimeListener) => void): void {
    const { listener } = this.events;
    if (listener === undefined) return;
    try {
      to(listener);
    } catch (error) {
      this.faults.caught("socket", error);
    }
  }
}
