/**
 * Subscriptions that begin: each needs the state of the channel's sequence on every other node. Where nodes report it to each new subscriber
 * (`reports` of the transport), no node is asked: one that has read of the subscription and has reported nothing has nothing. The
 * subscriptions of one turn wait together. Elsewhere, and for states too long to be reported, nodes are asked.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { TransportSubscription } from "../../transport/transport.ts";
import type { FailureBoundary } from "../nodes/failure-boundary.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import type { Requests } from "../requests/requests.ts";
import type { Report } from "../wire/format.ts";
import type { NodeResponse } from "../wire/messages.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";

/** `responses`: by node; those that have not responded in time, or are gone, are missing. */
type Done = (responses: ReadonlyMap<string, NodeResponse>) => void;

/** A subscription that begins. */
export class Opening {
  /** What nodes have reported. Bound: nodes of the cluster. */
  readonly reported = new Map<string, NodeResponse | undefined>();
  /** Nodes that are being asked, because their state is long. Bound: nodes of the cluster. */
  readonly asked = new Set<string>();
  group: Group | undefined;

  constructor(
    readonly spaceId: SpaceId,
    readonly channel: string,
    readonly done: Done,
  ) {}
}

/** The subscriptions of one turn. */
interface Group {
  /** Bound: channels that are subscribed to in one turn. */
  readonly openings: Opening[];
  /** The last of them: what is known to have been read after it was read after all. */
  last: TransportSubscription;
  /** Nodes that have not read of them. Bound: nodes of the cluster. */
  readonly waitingFor: Set<string>;
  /** Nodes that have. Bound: nodes of the cluster. */
  readonly read: Set<string>;
  readonly untilMs: number;
}

interface OpeningsParts {
  readonly wire: Pick<Wire, "isUp" | "reports">;
  readonly subjects: Pick<Subjects, "node">;
  readonly nodes: Pick<Nodes, "all">;
  readonly requests: Pick<Requests, "toAll" | "toOne">;
  readonly boundary: Pick<FailureBoundary, "run" | "markStale">;
  readonly nowMs: () => number;
}

export class Openings {
  /** Bound: turns of the last RESPONSE_TIMEOUT_MS. */
  private readonly groups = new Set<Group>();
  /** The group that further subscriptions of this turn join. */
  private current: Group | undefined;

  constructor(private readonly parts: OpeningsParts) {}

  /** `transport` has just been made. */
  begin(spaceId: SpaceId, channel: string, transport: TransportSubscription, done: Done): Opening | undefined {
    const { wire, nodes, requests, nowMs } = this.parts;
    if (!wire.reports || !wire.isUp) {
      requests.toAll({ kind: "sequences", channels: [[spaceId, channel]] }, done);
      return undefined;
    }
    const { all } = nodes;
    if (all.length === 0) {
      done(new Map());
      return undefined;
    }
    let group = this.current;
    if (!group) {
      const waitingFor = new Set(all.map(({ name }) => name));
      group = { openings: [], last: transport, waitingFor, read: new Set(), untilMs: nowMs() + RESPONSE_TIMEOUT_MS };
      this.current = group;
      this.groups.add(group);
      // No boundary: it cannot throw.
      setImmediate(() => {
        if (this.current === group) this.current = undefined;
      });
    }
    const opening = new Opening(spaceId, channel, done);
    opening.group = group;
    group.openings.push(opening);
    group.last = transport;
    return opening;
  }

  /** A node has reported something of the channel of an opening. */
  reported(opening: Opening, { node, response }: Report): void {
    const { group } = opening;
    if (!group?.waitingFor.has(node) || opening.reported.has(node)) return;
    opening.reported.set(node, response);
    if (response) return;
    const { spaceId, channel } = opening;
    opening.asked.add(node);
    this.parts.requests.toOne(node, { kind: "sequences", channels: [[spaceId, channel]] }, (answer) => {
      opening.asked.delete(node);
      if (answer) opening.reported.set(node, answer);
      if (group.waitingFor.size === 0) this.finishOne(group, opening);
    });
  }

  /** Nodes have read of further subscriptions. */
  read(): void {
    const { subjects } = this.parts;
    for (const group of this.groups) {
      for (const name of group.waitingFor)
        if (group.last.hasReportFrom?.(subjects.node(name)) === true) {
          group.waitingFor.delete(name);
          group.read.add(name);
        }
      if (group.waitingFor.size === 0) this.finish(group);
    }
  }

  nodeGone(name: string): void {
    for (const group of this.groups) {
      group.waitingFor.delete(name);
      group.read.delete(name);
      if (group.waitingFor.size === 0) this.finish(group);
    }
  }

  /** Called periodically: a node that does not read is not waited for any longer. */
  sweep(): void {
    const now = this.parts.nowMs();
    for (const group of this.groups) if (group.untilMs <= now) this.finish(group);
  }

  /** No further nodes can report anything. */
  finishAll(): void {
    for (const group of this.groups) this.finish(group);
  }

  private finish(group: Group): void {
    const { boundary } = this.parts;
    if (this.current === group) this.current = undefined;
    this.groups.delete(group);
    group.waitingFor.clear();
    for (const opening of group.openings) {
      const repair = (): void => boundary.markStale();
      boundary.run({ in: "opening" }, () => this.finishOne(group, opening), repair);
    }
  }

  private finishOne({ read }: Group, opening: Opening): void {
    if (!opening.group || opening.asked.size > 0) return;
    opening.group = undefined;
    const { spaceId: app, channel, reported, done } = opening;
    const nothing: NodeResponse = { kind: "sequences", sequences: [{ app, channel, epoch: 0, n: 0, members: [] }] };
    const responses = new Map<string, NodeResponse>();
    for (const name of read) {
      const response = reported.has(name) ? reported.get(name) : nothing;
      if (response) responses.set(name, response);
    }
    done(responses);
  }
}
