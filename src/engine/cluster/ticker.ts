/** The engine's timer: its steps run several times per heartbeat. */

import type { Link } from "../transport/nats.ts";
import type { Claims } from "./capacity-claims.ts";
import type { Watches } from "./channel-subscriptions.ts";
import { tail } from "./encode.ts";
import type { Boundary } from "./failure-boundary.ts";
import type { Beats } from "./heartbeats.ts";
import type { GuardedEnd } from "./node-callbacks.ts";
import type { Nodes } from "./nodes.ts";
import type { Lanes } from "./outgoing-streams.ts";
import type { Sends } from "./pending-direct-messages.ts";
import type { Questions } from "./pending-requests.ts";

const TICKS_PER_BEAT = 8;

export interface PulseParts {
  readonly link: Link;
  readonly end: GuardedEnd;
  readonly nodes: Nodes;
  readonly beats: Beats;
  readonly claims: Claims;
  readonly questions: Questions;
  readonly sends: Sends;
  readonly lanes: Lanes;
  readonly watches: Watches;
  readonly boundary: Boundary;
}

export class Pulse {
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly parts: PulseParts) {}

  begin(beatMs: number): void {
    this.timer = setInterval(() => this.tick(), beatMs / TICKS_PER_BEAT);
  }

  end(): void {
    clearInterval(this.timer);
  }

  /** Each step has a boundary of its own: one that throws must not stop the others, least of all the beat. */
  private tick(): void {
    const { link, nodes, beats, claims, questions, sends, boundary } = this.parts;
    const run = (step: string, work: () => void): void => boundary.run({ in: "timer", step }, work);
    // A node that cannot hear takes no other for gone: what it has missed is asked for later, from where it stopped hearing.
    if (!link.isUp) nodes.wasDeaf();
    const isBeat = beats.isDue;
    if (isBeat) run("beat", () => beats.send(false));
    run("nodes", () => nodes.look());
    run("questions", () => questions.sweep());
    run("fragments", () => link.sweep());
    run("sends", () => sends.sweep());
    run("claims", () => claims.sweep());
    run("lanes", () => this.repeatTails());
    if (isBeat) run("doubts", () => this.askAgain());
  }

  private repeatTails(): void {
    const { lanes, end, link } = this.parts;
    for (const { app, channel, epoch, n, subject } of lanes.due(!link.isUp))
      link.publish(subject, tail({ node: end.id, app, channel, epoch, n }));
  }

  /** After a fault: the state of the nodes that it may concern. */
  private askAgain(): void {
    const { nodes, watches, end, boundary } = this.parts;
    end.retryNodeGone();
    for (const node of boundary.takeDoubts(nodes.all)) watches.resync(node);
  }
}
