/**
 * Where direct messages arrive: one inbox for each peer that has connections here. A node numbers what it sends upwards. What
 * comes behind a newer one of the same node was stuck in a link that the node has given up since: its sender was told that
 * nobody knows what became of it, and now it would be out of order. So it is left out.
 */
import type { NodeEnd } from "../engine.ts";
import type { Heard, Link, Topic } from "../transport/nats.ts";
import { directIn } from "./decode.ts";
import { type Answer, type Direct, handed } from "./encode.ts";
import type { Boundary } from "./failure-boundary.ts";
import type { Nodes } from "./nodes.ts";
import type { Subjects } from "./subjects.ts";

/** How long what is late is left out: no link that was given up delivers later. */
export const LATE_MS = 60_000;
/** A number that is so far ahead is no node's: it is not remembered, else nothing that the node sends would be newer. */
const JUMP_MAX = 2 ** 32;

type Handed = Extract<Answer, { what: "hand" }>;

export interface InboxesParts {
  readonly end: Pick<NodeEnd, "id" | "deliverTo">;
  readonly link: Pick<Link, "subscribe">;
  readonly subjects: Pick<Subjects, "peer">;
  readonly nodes: Pick<Nodes, "seen">;
  readonly boundary: Pick<Boundary, "report">;
  readonly nowMs: () => number;
  /** Something that no node of ours sends. */
  readonly odd: () => void;
}

interface Newest {
  readonly number: number;
  readonly atMs: number;
}

interface Inbox {
  readonly topic: Topic;
  /** By node, the number of its newest. */
  readonly newest: Map<string, Newest>;
}

export class Inboxes {
  private readonly held = new Map<string, Inbox>();

  constructor(private readonly parts: InboxesParts) {}

  hold(app: string, peerId: string): void {
    const { link, subjects } = this.parts;
    const key = keyOf(app, peerId);
    if (this.held.has(key)) return;
    const newest = new Map<string, Newest>();
    const topic = link.subscribe(subjects.peer(app, peerId), (heard) => this.arrived(app, peerId, newest, heard));
    this.held.set(key, { topic, newest });
  }

  release(app: string, peerId: string): void {
    const key = keyOf(app, peerId);
    this.held.get(key)?.topic.end();
    this.held.delete(key);
  }

  /** One that came another way than to its inbox. */
  hand(text: string): Handed {
    const direct = directIn(text);
    if (!direct) this.parts.odd();
    const inbox = direct && this.held.get(keyOf(direct.app, direct.to));
    if (!inbox) return { what: "hand", count: 0 };
    const count = this.deliver(direct, inbox.newest);
    return { what: "hand", count: count ?? 0, isLate: count === undefined };
  }

  private arrived(app: string, peerId: string, newest: Map<string, Newest>, { text, respond }: Heard): void {
    const { end, odd } = this.parts;
    const direct = directIn(text);
    if (!direct || direct.app !== app || direct.to !== peerId) return odd();
    const count = this.deliver(direct, newest);
    if (count !== undefined) respond(handed(end.id, count));
  }

  /** undefined: it comes too late, or it is not known whether it was delivered. */
  private deliver({ node, number, app, to, envelope }: Direct, newest: Map<string, Newest>): number | undefined {
    const { end, nodes, boundary, nowMs } = this.parts;
    if (!nodes.seen(node)) return undefined;
    const now = nowMs();
    const last = newest.get(node) ?? { number: 0, atMs: now };
    if (number <= last.number && now - last.atMs < LATE_MS) return undefined;
    if (number - last.number <= JUMP_MAX) newest.set(node, { number, atMs: now });
    try {
      return end.deliverTo(app, to, envelope);
    } catch (error) {
      // No answer: its sender gets `backend_error`. No other state depends on a direct message.
      boundary.report(error, { in: "deliverTo", app });
      return undefined;
    }
  }
}

/** An application's id has no space in it. */
const keyOf = (app: string, peerId: string): string => `${app} ${peerId}`;
