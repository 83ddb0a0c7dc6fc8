/** Sends direct messages to other nodes. A message keeps its number over all attempts, so that each node delivers it once. */
import type { SpaceId } from "../../../base/ids.ts";
import type { DirectAttempt, EngineCallbacks, Envelope, Sent } from "../../engine.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import type { PendingDirectMessages } from "./pending-messages.ts";

interface DirectSendsParts {
  readonly local: Pick<EngineCallbacks, "id">;
  readonly wire: Pick<Wire, "publish" | "format" | "isDirect" | "hasSubscriber">;
  readonly subjects: Pick<Subjects, "peer" | "response">;
  /** Every node is asked to deliver the message of this number. */
  readonly control: { forwardToAll(number: number): void };
  readonly pendingDirectMessages: PendingDirectMessages;
  /** Never returns a number twice. */
  readonly nextNumber: () => number;
  readonly nowMs: () => number;
}

export class DirectSends {
  constructor(private readonly parts: DirectSendsParts) {}

  send(spaceId: SpaceId, to: string, envelope: Envelope, isHere: boolean, attempt?: DirectAttempt): Sent {
    const { local, wire, subjects, control, pendingDirectMessages } = this.parts;
    const subject = subjects.peer(spaceId, to);
    if (isHere && !isRepeated(attempt) && this.isNowhereElse(subject)) return 0;
    const number = attempt ? this.numberOf(attempt) : this.parts.nextNumber();
    const before = attempt?.isNext ? undefined : pendingDirectMessages.oldestUndecided(subject);
    const isNext = before === undefined;
    const text = wire.format.directMessage({
      node: local.id,
      number,
      app: spaceId,
      to,
      envelope,
      isNext,
      oldest: before,
    });
    wire.publish(subject, text, subjects.response(number));
    const result = pendingDirectMessages.add(number, text, attempt, subject, isHere);
    if (attempt?.isLast) control.forwardToAll(number);
    return result;
  }

  /** What would be found in the next turn: no other node is subscribed, and none had connections of the peer lately. */
  private isNowhereElse(subject: string): boolean {
    const { wire, pendingDirectMessages } = this.parts;
    return wire.isDirect && !wire.hasSubscriber(subject) && !pendingDirectMessages.awaits(subject);
  }

  private numberOf(attempt: DirectAttempt): number {
    if (attempt.number > 0) return attempt.number;
    attempt.number = this.parts.nextNumber();
    attempt.firstMs = this.parts.nowMs();
    return attempt.number;
  }
}

const isRepeated = (attempt: DirectAttempt | undefined): boolean =>
  attempt !== undefined && (attempt.number > 0 || attempt.isLast);
