/** Answers that a channel with history or a state gets, and which of them may be an error. */
import type { Received } from "../../src/realtime/testing/kit.ts";
import type { Context } from "./context.ts";
import { type Connection, endSubscription, type Request, type Subscription } from "./model.ts";
import { ruleBroken } from "./rule-broken.ts";

/** An error of the store may come this long after the store was unavailable: a publish waits for two seconds. */
const LATE_MS = 5000;

export class Answers {
  constructor(private readonly context: Context) {}

  /** Checks an answer that has more than one possible result. Returns whether nothing more is to be done with it. */
  answered(connection: Connection, request: Request, frame: Received): boolean {
    const { code } = frame;
    if (code === "backend_error") this.mayFail(connection, request);
    if (request.state !== undefined) return this.stated(connection, request, frame);
    if (request.message !== undefined && request.channel !== undefined) {
      if (frame.type === "ack") this.context.histories.published(connection, request, frame);
      else if (code !== "backend_error") ruleBroken(connection, `message ${request.message} was refused with ${code}`);
      const message = this.context.messages.get(request.message);
      if (message && code) message.hasFailed = true;
      return true;
    }
    const { subscription } = request;
    if (code !== "backend_error" || !subscription) return false;
    if (connection.subscriptions.get(subscription.channel) === subscription && !subscription.acked)
      endSubscription(connection, subscription.channel);
    return true;
  }

  /** `backend_error` needs a reason. */
  private mayFail(connection: Connection, { sentMs = 0 }: Request): void {
    if (this.context.wasFine(sentMs - LATE_MS))
      ruleBroken(connection, "backend_error, though the store was never away");
  }

  private stated(connection: Connection, request: Request, { type, code }: Received): boolean {
    const { state = "", channel = "", subscription } = request;
    const { roster } = subscription ?? {};
    const isLeaving = connection.unanswered.values().some(({ ends }) => ends === subscription);
    const isHeld = subscription !== undefined && (connection.subscriptions.get(channel) === subscription || isLeaving);
    if (type === "ack") {
      if (!isHeld) ruleBroken(connection, `a state on ${channel}, where it is no member`);
      this.context.states.accepted(subscription as Subscription, state);
      return true;
    }
    // One that waits for messages to be committed is refused by what the key allows when its turn comes.
    if (this.context.isCommitting(connection) && (code === "action_not_permitted" || code === "channel_not_authorized"))
      return true;
    const isEarly = !isHeld || !(roster instanceof Map);
    if (code !== request.expect && !(isEarly && code === "channel_not_authorized") && code !== "rate_limited")
      ruleBroken(connection, `a state on ${channel} was answered ${code}`);
    return true;
  }

  /** A subscribe was acked. */
  subscribed(connection: Connection, subscription: Subscription, request: Request, frame: Received): void {
    this.context.states.subscribed(subscription, request.wantsStates === true);
    if (this.context.histories.has(subscription.channel))
      this.context.histories.subscribed(connection, subscription, request, frame);
    else if (frame.pos !== undefined || frame.recovered !== undefined)
      ruleBroken(connection, `a position on ${subscription.channel}, which has no history`);
  }
}
