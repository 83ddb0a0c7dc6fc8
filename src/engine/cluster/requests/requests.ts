/** Requests to other nodes: to all known nodes, or to one. */
import type { FailureBoundary } from "../nodes/failure-boundary.ts";
import type { Nodes, OtherNode } from "../nodes/nodes.ts";
import type { NodeRequest, NodeResponse } from "../wire/messages.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import type { PendingRequests } from "./pending-requests.ts";
import { Questions } from "./questions.ts";

interface RequestsParts {
  readonly self: string;
  readonly wire: Wire;
  readonly subjects: Subjects;
  readonly nodes: Nodes;
  readonly pending: PendingRequests;
  /** Never returns a number twice: responses are matched by it. */
  readonly nextNumber: () => number;
  readonly boundary: FailureBoundary;
}

export interface Responses {
  readonly responses: readonly (readonly [OtherNode, NodeResponse])[];
  readonly isComplete: boolean;
}

export class Requests {
  private readonly questions: Questions;

  constructor(private readonly parts: RequestsParts) {
    const { boundary } = parts;
    this.questions = new Questions({ send: (request, done) => this.sendToAll(request, done), boundary });
  }

  /** `done` gets the responses by node name; at once if there are no other nodes or none can be reached. */
  toAll(one: NodeRequest, done: (responses: ReadonlyMap<string, NodeResponse>) => void, isNew = false): void {
    const { wire, nodes } = this.parts;
    // Where a transport is direct, a text of its own costs less than to wait for others.
    const [channel, ...others] = one.kind === "sequences" && !wire.isDirect ? one.channels : [];
    if (channel && others.length === 0 && wire.isUp && nodes.size > 0) this.questions.ask(channel, done);
    else this.sendToAll(one, done, isNew);
  }

  private sendToAll(
    one: NodeRequest,
    done: (responses: ReadonlyMap<string, NodeResponse>) => void,
    isNew = false,
  ): void {
    const { self, wire, subjects, nodes, pending, nextNumber } = this.parts;
    const all = wire.isUp ? nodes.all : [];
    // Those that do not know the request must not get it.
    const asked = isNew ? all.filter(({ isOfFirstRelease }) => !isOfFirstRelease) : all;
    const names = asked.map(({ name }) => name);
    const number = nextNumber();
    pending.add(number, names, done);
    const to = asked.length < all.length ? names.map((name) => subjects.node(name)) : [subjects.all];
    if (names.length === 0) return;
    const text = wire.format.request(self, one);
    for (const subject of to) wire.publish(subject, text, subjects.response(number));
  }

  /**
   * Responses of the nodes that are not gone meanwhile. `isComplete`: all of them were reachable and have responded. `isNew`: nodes of 0.1.0 are
   * not asked.
   */
  collect(one: NodeRequest, isNew = false): Promise<Responses> {
    const { wire, nodes } = this.parts;
    const names = nodes.all.map(({ name }) => name);
    const { isUp } = wire;
    return new Promise((resolve) =>
      this.toAll(
        one,
        (byName) => {
          const remaining = names.flatMap((name) => nodes.known(name) ?? []);
          const responses = remaining.flatMap((node) => {
            const response = byName.get(node.name);
            return response ? [[node, response] satisfies [OtherNode, NodeResponse]] : [];
          });
          resolve({ responses, isComplete: isUp && responses.length === remaining.length });
        },
        isNew,
      ),
    );
  }

  /** `done` gets undefined when the node has not responded in time, or is gone. */
  toOne(name: string, one: NodeRequest, done: (response: NodeResponse | undefined) => void): void {
    const { self, wire, subjects, pending, nextNumber } = this.parts;
    const number = nextNumber();
    pending.add(number, [name], (responses) => done(responses.get(name)));
    wire.publish(subjects.node(name), wire.format.request(self, one), subjects.response(number));
  }
}
