/** Sends direct messages to other nodes. A message keeps its number over all attempts, so that each node delivers it once. */
import type { SpaceId } from "../../../base/ids.ts";
import type { DirectAttempt, EngineCallbacks, Envelope, SendResult } from "../../engine.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import type { PendingDirectMessages } from "./pending-messages.ts";

interface DirectSendsParts {
  readonly local: Pick<EngineCallbacks, "id">;
  readonly wire: Pick<Wire, "publish" | "format">;
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

  send(
    spaceId: SpaceId,
    to: string,
    envelope: Envelope,
    isHere: boolean,
    attempt?: DirectAttempt,
  ): Promise<SendResult> {
    const { local, wire, subjects, control, pendingDirectMessages } = this.parts;
    const number = attempt ? this.numberOf(attempt) : this.parts.nextNumber();
    const subject = subjects.peer(spaceId, to);
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

  private numberOf(attempt: DirectAttempt): number {
    if (attempt.number > 0) return attempt.number;
    attempt.number = this.parts.nextNumber();
    attempt.firstMs = this.parts.nowMs();
    return attempt.number;
  }
}
