/** What the APIs ask of webhooks: numbers, the log, and what is sent because a caller asks for it. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { Problem } from "../../protocol/codes.ts";
import type { AttemptSearch, WebhookAttemptRow, WebhookState, WebhookStore } from "../../store/contract/webhooks.ts";
import { type AppName, dataOf, type Records } from "../events/data.ts";
import type { Sender } from "../sending/sender.ts";
import type { Recipient } from "../signing/recipient.ts";
import { bodyOf, signedRequest } from "../signing/request.ts";
import { type ShownAnswer, shownAnswer } from "./judging.ts";
import type { WebhookLeader } from "./leader.ts";

interface ServiceParts {
  readonly store: WebhookStore;
  readonly recipient: (id: string) => Recipient | undefined;
  readonly app: (id: Recipient["row"]["app"]) => AppName | undefined;
  readonly records: Records;
  readonly sender: Pick<Sender, "send">;
  readonly leader: Pick<WebhookLeader, "nudge">;
  readonly clock: Pick<Clock, "wallMs">;
}

export interface TestResult extends ShownAnswer {
  readonly ms: number;
}

const notSent = (error: string): TestResult => ({ status: null, response: null, error, ms: 0 });

export class WebhookService {
  /** Endpoints of which all that has failed is being made due, which takes turns with everything else. Bound: calls that are open. */
  private readonly replaying = new Set<string>();

  constructor(private readonly parts: ServiceParts) {}

  states(ids: readonly string[]): Promise<readonly WebhookState[]> {
    return this.parts.store.states(ids);
  }

  attempts(id: string, search: AttemptSearch): Promise<readonly WebhookAttemptRow[]> {
    return this.parts.store.attempts(id, search);
  }

  attempt(id: string, nr: number): Promise<WebhookAttemptRow | undefined> {
    return this.parts.store.attempt(id, nr);
  }

  /** Sends `webhook.test` at once, from this process, whether or not the endpoint is disabled. It has no number, and is not in the log. */
  async test(id: string): Promise<TestResult> {
    const { sender, clock } = this.parts;
    const recipient = this.parts.recipient(id);
    const app = recipient && this.parts.app(recipient.row.app);
    if (!app) return notSent("the webhook has just been deleted");
    const happened = clock.wallMs();
    const data = dataOf({ type: "webhook.test" }, app, this.parts.records);
    const body = bodyOf({ webhook: id, seq: 0, type: "webhook.test", happened, data });
    const request = signedRequest(`msg_${id}_test_${randomUUID()}`, body, recipient, happened);
    if (!request) return notSent("the master key of this node does not open the secret of the webhook");
    const sent = await sender.send(request);
    if (sent === "lost") return notSent("the process that sends webhooks has just ended: try again");
    return { ...shownAnswer(sent.answer), ms: sent.tookMs };
  }

  /** false: the event is not kept any more. */
  async resend(id: string, seq: number): Promise<boolean> {
    const { store, clock, leader } = this.parts;
    const isKept = await store.resend(id, seq, clock.wallMs());
    leader.nudge();
    return isKept;
  }

  /** How many events are sent again. */
  async replay(id: string, sinceMs: number): Promise<number> {
    const { store, clock, leader } = this.parts;
    if (this.replaying.has(id)) throw new Problem("rate_limited", "A replay of this webhook is still running.", 1);
    this.replaying.add(id);
    try {
      return await store.replay(id, sinceMs, clock.wallMs());
    } finally {
      this.replaying.delete(id);
      leader.nudge();
    }
  }
}
