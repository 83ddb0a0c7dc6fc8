/** Heartbeats of this node: they say that it is alive, which nodes it receives, and how many connections each application has. */
import type { AppId } from "../../../base/ids.ts";
import type { EngineCallbacks } from "../../engine.ts";
import { connectionCount, heartbeat, request } from "../wire/encode.ts";
import type { AboutNode } from "../wire/messages.ts";
import { chunksOf } from "../wire/payload.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import type { FailureBoundary } from "./failure-boundary.ts";
import { NodeList, type SentList } from "./node-lists.ts";
import type { Nodes } from "./nodes.ts";

/** Share of an application's connections: a larger change is sent before the next heartbeat is due. */
const COUNT_DRIFT = 0.01;
/** The changes of this time after one are sent together: clients that return by the thousand change a number with each connect. */
const COUNT_PAUSE_MS = 20;

interface HeartbeatsParts {
  readonly local: EngineCallbacks;
  readonly wire: Wire;
  readonly subjects: Subjects;
  readonly nodes: Nodes;
  readonly boundary: FailureBoundary;
  readonly heartbeatMs: number;
  readonly nowMs: () => number;
  readonly about: AboutNode | undefined;
  readonly later: (run: () => void, ms: number) => void;
}

export class Heartbeats {
  private lastMs = 0;
  /** Connections by application, as last sent. Bound: applications with connections here. */
  private counts = new Map<AppId, number>();

  /** Numbers that are sent when the pause is over. Bound: applications with connections here, for COUNT_PAUSE_MS. */
  private readonly changed = new Map<AppId, number>();
  private isPausing = false;
  private readonly list = new NodeList();

  constructor(private readonly parts: HeartbeatsParts) {}

  get isDue(): boolean {
    return this.parts.nowMs() - this.lastMs >= this.parts.heartbeatMs;
  }

  /**
   * The first heartbeat, and one more when the subscriptions of this node are in effect: of two nodes that start at the same time,
   * each would send its first one before the other can receive it.
   */
  async introduce(): Promise<void> {
    const { wire, boundary } = this.parts;
    this.send(false);
    await wire.flush().catch(() => undefined);
    boundary.run({ in: "introduce" }, () => this.send(false));
  }

  /** Sends as many parts as the applications need. `isReconnected`: this node was disconnected until now. */
  send(isReconnected: boolean): void {
    const { local, wire, nodes, subjects, boundary, nowMs } = this.parts;
    this.lastMs = nowMs();
    if (!wire.isUp) return;
    // If counting fails the heartbeat is still sent: without it the other nodes would consider this one gone.
    boundary.run({ in: "localCounts" }, () => {
      this.counts = new Map(local.localCounts());
    });
    this.publish(subjects.all, this.list.next(nodes.all, isReconnected), isReconnected);
  }

  /** To a node that has asked for the whole list. */
  sendList(to: string): void {
    const { wire, subjects } = this.parts;
    if (wire.isUp) this.publish(subjects.node(to), this.list.whole(), false);
  }

  /** A change of the list of this node was missed. */
  askForList(name: string): void {
    const { local, wire, subjects } = this.parts;
    if (wire.isUp) wire.publish(subjects.node(name), request(local.id, { kind: "list" }));
  }

  private publish(subject: string, list: SentList, isReconnected: boolean): void {
    const { local, wire, nowMs, about } = this.parts;
    const chunks = chunksOf([...this.counts]);
    const clockMs = Math.floor(nowMs());
    for (const [part, some] of chunks.entries()) {
      const isFirst = part === 0;
      const head = {
        ...(isFirst ? list : { receivesFrom: [] }),
        isReconnected: isFirst && isReconnected,
        ...(isFirst && about && { about }),
      };
      const connections = new Map(some);
      const parts = chunks.length;
      wire.publish(subject, heartbeat({ node: local.id, connections, ...head, part, parts, clockMs }));
    }
  }

  connectionsChanged(app: AppId, connections: number): void {
    this.changed.set(app, connections);
    if (!this.isPausing) this.sendCounts();
  }

  private hasDrifted(app: AppId, connections: number): boolean {
    const sent = this.counts.get(app) ?? 0;
    return Math.abs(connections - sent) > sent * COUNT_DRIFT;
  }

  private sendCounts(): void {
    const { local, wire, subjects, later } = this.parts;
    const drifted = [...this.changed].filter(([app, connections]) => this.hasDrifted(app, connections));
    this.changed.clear();
    this.isPausing = drifted.length > 0;
    if (!this.isPausing) return;
    later(() => this.sendCounts(), COUNT_PAUSE_MS);
    if (!wire.isUp) return;
    for (const [app, connections] of drifted) {
      this.counts.set(app, connections);
      wire.publish(subjects.all, connectionCount({ node: local.id, app, connections }));
    }
  }
}
