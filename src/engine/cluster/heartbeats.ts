/** Heartbeats of this node: that it is alive, which nodes it hears, and how many connections each application has here. */
import type { NodeEnd } from "../engine.ts";
import type { Link } from "../transport/nats.ts";
import { beat, count } from "./encode.ts";
import type { Boundary } from "./failure-boundary.ts";
import type { Nodes } from "./nodes.ts";
import { chunksOf } from "./payload.ts";
import type { Subjects } from "./subjects.ts";

/** Share of an application's connections: a larger change is sent before the next heartbeat is due. */
const COUNT_DRIFT = 0.01;

export interface BeatsParts {
  readonly end: NodeEnd;
  readonly link: Link;
  readonly subjects: Subjects;
  readonly nodes: Nodes;
  readonly boundary: Boundary;
  readonly beatMs: number;
  readonly nowMs: () => number;
}

export class Beats {
  private lastMs = 0;
  /** Connections by application, as last sent. */
  private counts = new Map<string, number>();

  constructor(private readonly parts: BeatsParts) {}

  get isDue(): boolean {
    return this.parts.nowMs() - this.lastMs >= this.parts.beatMs;
  }

  /** In as many parts as the applications need. `isBack`: this node was cut off until now. */
  send(isBack: boolean): void {
    const { end, link, nodes, subjects, boundary, nowMs } = this.parts;
    this.lastMs = nowMs();
    if (!link.isUp) return;
    // If counting fails the heartbeat is still sent: without it the others would take this node for gone.
    boundary.run({ in: "localCounts" }, () => {
      this.counts = new Map(end.localCounts());
    });
    const hears = nodes.all.map(({ name }) => name);
    const chunks = chunksOf([...this.counts]);
    for (const [part, some] of chunks.entries()) {
      const connections = new Map(some);
      const one = { node: end.id, connections, hears: part === 0 ? hears : [], isBack: part === 0 && isBack };
      link.publish(subjects.all, beat({ ...one, part, parts: chunks.length }));
    }
  }

  /** The connections of one application have changed. */
  counted(app: string, connections: number): void {
    const { end, link, subjects } = this.parts;
    const known = this.counts.get(app) ?? 0;
    if (!link.isUp || Math.abs(connections - known) <= known * COUNT_DRIFT) return;
    this.counts.set(app, connections);
    link.publish(subjects.all, count(end.id, app, connections));
  }
}
