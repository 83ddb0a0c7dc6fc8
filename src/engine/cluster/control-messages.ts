/** What arrives besides messages: heartbeats and questions of other nodes, and answers to questions of this one. */

import type { Heard } from "../transport/nats.ts";
import type { Watches } from "./channel-subscriptions.ts";
import * as decode from "./decode.ts";
import type { Asked, Beat, Count } from "./encode.ts";
import type { Boundary } from "./failure-boundary.ts";
import type { GuardedEnd } from "./node-callbacks.ts";
import type { Nodes, OtherNode } from "./nodes.ts";
import type { Sends } from "./pending-direct-messages.ts";
import type { Questions } from "./pending-requests.ts";
import type { Asks } from "./requests.ts";
import type { Replies } from "./responder.ts";
import { questionOf } from "./subjects.ts";

export interface ArrivalsParts {
  readonly end: GuardedEnd;
  readonly nodes: Nodes;
  readonly watches: Watches;
  readonly replies: Replies;
  readonly asks: Asks;
  readonly sends: Sends;
  readonly questions: Questions;
  readonly boundary: Boundary;
  /** Something that no node of ours sends. */
  readonly odd: (where: string) => void;
}

export class Arrivals {
  constructor(private readonly parts: ArrivalsParts) {}

  /** On the subject of all nodes, or on this node's own. */
  toAll({ text, respond }: Heard): void {
    const { nodes, boundary, odd } = this.parts;
    const one = decode.toAll(text);
    if (!one) return odd("for all nodes");
    if (one.kind === "farewell") return nodes.farewell(one.node);
    const wasKnown = nodes.known(one.node) !== undefined;
    const node = nodes.seen(one.node, one.kind === "beat" ? one : undefined);
    if (!node) return;
    boundary.run(
      { in: one.kind, node: node.id, ...(one.kind === "question" && { what: one.question.what }) },
      () => this.heard(node, one, wasKnown, respond),
      () => boundary.doubt(node.id),
    );
  }

  private heard(node: OtherNode, one: Beat | Count | Asked, wasKnown: boolean, respond: (text: string) => void): void {
    const { end, nodes, watches, replies } = this.parts;
    if (one.kind === "count") {
      nodes.counted(node, one.app, one.connections);
      return end.connectionsChanged(one.app);
    }
    if (one.kind === "question") replies.to(node.name, one.question, respond);
    else if (one.part === 0 && wasKnown && (one.isBack || !one.hears.includes(end.id))) watches.resync(node);
  }

  answer({ subject, text, isNobody }: Heard): void {
    const { sends, questions, odd } = this.parts;
    const number = questionOf(subject);
    if (sends.has(number)) {
      if (isNobody) return this.handRound(number);
      const handed = decode.handedIn(text);
      return handed ? sends.handed(number, handed.count) : odd("as an answer");
    }
    if (isNobody) return;
    const answered = decode.answerIn(text);
    if (answered) questions.arrived(number, answered);
    // A second node that has handed a message on, when the first has said so already.
    else if (!decode.handedIn(text)) odd("as an answer");
  }

  /** Nobody has the inbox, as far as the server knows; a node that made it just now does. */
  private handRound(number: number): void {
    const { asks, nodes, sends } = this.parts;
    const text = sends.text(number);
    if (text === undefined) return sends.decided(number, 0, nodes.isSomebodySilent);
    const asked = nodes.all.length;
    sends.prolong(number);
    asks.all({ what: "hand", text }, (answers) => {
      const handed = [...answers.values()].flatMap((answer) => (answer.what === "hand" ? answer : []));
      const count = handed.reduce((sum, one) => sum + one.count, 0);
      const isUnsure = handed.length < asked || handed.some(({ isLate }) => isLate) || nodes.isSomebodySilent;
      sends.decided(number, count, isUnsure);
    });
  }
}
