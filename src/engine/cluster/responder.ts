/** Responds to requests of other nodes. */
import type { EngineCallbacks } from "../engine.ts";
import type { DirectMessages } from "./direct-messages/direct-messages.ts";
import type { FailureBoundary } from "./nodes/failure-boundary.ts";
import type { Heartbeats } from "./nodes/heartbeats.ts";
import type { CapacityClaims } from "./requests/capacity-claims.ts";
import type { NodeTexts } from "./requests/node-texts.ts";
import { encodeParts } from "./requests/response-parts.ts";
import type { OutgoingSequences } from "./sequences/outgoing-sequences.ts";
import type { SequenceStateResponder } from "./sequences/state-responder.ts";
import type { NodeRequest, NodeResponse } from "./wire/messages.ts";

interface ResponderParts {
  readonly local: EngineCallbacks;
  readonly outgoing: OutgoingSequences;
  readonly directMessages: DirectMessages;
  readonly claims: CapacityClaims;
  readonly boundary: FailureBoundary;
  readonly sequenceStates: SequenceStateResponder;
  readonly texts: NodeTexts;
  readonly heartbeats: Pick<Heartbeats, "sendList">;
}

export class Responder {
  constructor(private readonly parts: ResponderParts) {}

  /** `from`: the requesting node. The response may be sent later. */
  handle(from: string, request: NodeRequest, respond: (text: string) => void): void {
    const { local, boundary, sequenceStates, texts, heartbeats } = this.parts;
    const send = (response: NodeResponse): void => encodeParts(local.id, response).forEach(respond);
    if (request.kind === "sequences") return sequenceStates.handle(from, request.channels, respond);
    if (request.kind === "list") return heartbeats.sendList(from);
    if (request.kind === "text") return texts.answer(request.text, respond);
    if (request.kind !== "invalidate") return send(this.responseTo(from, request));
    const { app, withdrawn } = request;
    const done = (): void =>
      send({ kind: "invalidate", connections: app === undefined ? 0 : local.localConnections(app) });
    void Promise.resolve(local.invalidated(app, withdrawn))
      .then(done, done)
      .catch((error: unknown) => boundary.report(error, { in: "nudged", app }));
  }

  private responseTo(
    from: string,
    request: Exclude<NodeRequest, { kind: "invalidate" | "sequences" | "text" | "list" }>,
  ): NodeResponse {
    const { local, outgoing, directMessages, claims } = this.parts;
    switch (request.kind) {
      case "replay":
        return { kind: "replay", items: outgoing.replay(request.from, request.to) };
      case "channels":
        return { kind: "channels", ...local.localChannels(request.app, request.page) };
      case "members":
        return { kind: "members", members: local.localPeers(request.app, request.channel) };
      case "kick":
        return { kind: "kick", closed: local.kicked(request.app, request.peerId) };
      case "block":
        local.blocked(request.app, request.peerId, request.untilMs);
        return { kind: "block" };
      case "capacity": {
        const { app, number } = request;
        return { kind: "capacity", taken: claims.taken(app, { number, node: from }) };
      }
      case "deliver":
        return directMessages.deliverForwarded(request);
    }
  }
}
