/** Messages that are published to created streams over WebSocket and REST. Connections get their answers as for any message that is stored. */
import { appOfSpace, type SpaceId } from "../../base/ids.ts";
import type { Envelope } from "../../engine/engine.ts";
import type { WriteOutcome } from "../../history/stream-writes.ts";
import type { StreamRule } from "../../protocol/patterns/channel-rules.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Connection } from "../state/connection.ts";
import type { CreatedStreams, WriteRequest } from "./created.ts";
import type { CreatedPublisher, Outcome } from "./outcomes.ts";
import type { Publishing } from "./publishing.ts";

interface CreatedPublishingParts {
  readonly created: CreatedStreams;
  readonly publishing: Pick<Publishing, "answerInOrder" | "finish">;
  readonly faults: FaultLog;
}

export class CreatedPublishing implements CreatedPublisher {
  constructor(private readonly parts: CreatedPublishingParts) {}

  /** `answer` is called once, later. `sender`: absent for REST. */
  publish(
    spaceId: SpaceId,
    channel: string,
    rule: StreamRule,
    envelope: Envelope,
    answer: (outcome: Outcome) => void,
    sender?: Connection,
  ): void {
    const outcome = this.parts.created.write(
      appOfSpace(spaceId),
      channel,
      { kind: "created", rule },
      requestOf(envelope, sender),
    );
    if (outcome === "over_message_quota") return answer(outcome);
    if (sender) {
      const { withExtras } = sender;
      withExtras.uncommitted++;
      withExtras.uncommittedIn = channel;
      // Its next message without history must not be delivered at once.
      withExtras.publishesTo = undefined;
    }
    void outcome.then((written) => this.answered(channel, written, answer, sender));
  }

  private answered(
    channel: string,
    written: WriteOutcome,
    answer: (outcome: Outcome) => void,
    sender: Connection | undefined,
  ): void {
    const { publishing, faults } = this.parts;
    try {
      const outcome = outcomeOf(written);
      if (sender && typeof outcome !== "string") return publishing.answerInOrder(sender, channel, outcome, answer);
      answer(outcome);
      publishing.finish(sender);
    } catch (error) {
      faults.caught("history", error);
    }
  }
}

function requestOf(
  { from, metadataJson, dataJson, id, idScope }: Envelope,
  sender: Connection | undefined,
): WriteRequest {
  const scope = id === undefined ? "" : ((sender ? sender.idScope : idScope) ?? "");
  return {
    author: { from, metadataJson },
    data: [dataJson],
    contentType: "application/json",
    isMalformed: false,
    closes: false,
    seq: undefined,
    producer: undefined,
    message: { connection: sender?.id, id, idScope: scope },
  };
}

function outcomeOf(written: WriteOutcome): Outcome {
  if (written === "unconfirmed") return written;
  switch (written.outcome) {
    case "written":
    case "duplicate":
      return written.appended[0] ?? "unconfirmed";
    case "closed":
      return "stream_closed";
    case "stream full":
    case "application full":
      return "stream_full";
    case "other type":
      return "unsupported_option";
    default:
      return "stream_not_found";
  }
}
