/** What this node answers when another asks. */
import type { NodeEnd } from "../engine.ts";
import type { Claims } from "./capacity-claims.ts";
import type { Inboxes } from "./direct-messages.ts";
import type { Answer, Question } from "./encode.ts";
import type { Boundary } from "./failure-boundary.ts";
import type { Lanes } from "./outgoing-streams.ts";
import { partsOf } from "./pending-requests.ts";
import type { WhoAnswers } from "./stream-state-responder.ts";

export interface RepliesParts {
  readonly end: NodeEnd;
  readonly lanes: Lanes;
  readonly inboxes: Inboxes;
  readonly claims: Claims;
  readonly boundary: Boundary;
  readonly whoAnswers: WhoAnswers;
}

export class Replies {
  constructor(private readonly parts: RepliesParts) {}

  /** `by`: who asks. The answer may take its time. */
  to(by: string, question: Question, respond: (text: string) => void): void {
    const { end, boundary, whoAnswers } = this.parts;
    const answer = (one: Answer): void => partsOf(end.id, one).forEach(respond);
    if (question.what === "who") return whoAnswers.give(by, question.channels, respond);
    if (question.what !== "look") return answer(this.atOnce(by, question));
    const { app } = question;
    const done = (): void => answer({ what: "look", connections: app === undefined ? 0 : end.localConnections(app) });
    void Promise.resolve(end.nudged(app))
      .then(done, done)
      .catch((error: unknown) => boundary.report(error, { in: "nudged", app }));
  }

  private atOnce(by: string, question: Exclude<Question, { what: "look" | "who" }>): Answer {
    const { end, lanes, inboxes, claims } = this.parts;
    switch (question.what) {
      case "again":
        return { what: "again", items: lanes.again(question.place, question.to) };
      case "channels":
        return { what: "channels", counts: end.localChannels(question.app) };
      case "members":
        return { what: "members", members: end.localPeers(question.app, question.channel) };
      case "kick":
        return { what: "kick", closed: end.kicked(question.app, question.peerId) };
      case "block":
        end.blocked(question.app, question.peerId, question.untilMs);
        return { what: "block" };
      case "room": {
        const { app, n } = question;
        return { what: "room", taken: end.localConnections(app) + claims.olderThan(app, { n, node: by }) };
      }
      case "hand":
        return inboxes.hand(question.text);
    }
  }
}
