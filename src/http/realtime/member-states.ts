/** The state of a channel's member over REST. */
import { z } from "zod";
import type { Credential } from "../../access/keys/credential.ts";
import { spaceOf } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import { isObject, type JsonObject } from "../../protocol/json.ts";
import { STATE_MAX_BYTES } from "../../protocol/limits.ts";
import { checkedState, type States } from "../../realtime/presence/states.ts";
import { channelIn, peerIn } from "../request/path-names.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { permit } from "../shared/messages.ts";

/** `Retry-After` if not every node has responded. */
const RETRY_SECONDS = 1;

const state = lazily(() =>
  z
    .custom<JsonObject | null>((value) => value === null || isObject(value), "must be an object or null")
    .meta({
      type: ["object", "null"],
      additionalProperties: true,
      description: `What the member says about itself, at most ${STATE_MAX_BYTES} bytes as JSON; null for nothing.`,
    }),
);

export function memberStateEndpoints(guard: Guard<Credential>, states: Pick<States, "setFor">): Endpoint[] {
  return [
    endpoint({
      tag: "channels",
      guard,
      method: "PUT",
      path: "/v1/channels/:channel/peers/:peerId/state",
      passesOn: true,
      summary: "Set the state of a channel's member",
      body: () => z.object({ state: state() }),
      response: () => z.object({ channel: z.string(), peerId: z.string(), state: state() }),
      problems: [
        "channel_reserved",
        "channel_not_authorized",
        "action_not_permitted",
        "peer_not_found",
        "backend_error",
      ],
      handle: async (call, { caller, body, textOf }) => {
        const json = checkedState(textOf("state"));
        if (json === undefined)
          throw new Problem("invalid_request", `state: must be at most ${STATE_MAX_BYTES} bytes as JSON`);
        const [channel, peerId] = [channelIn(call), peerIn(call)];
        const { app, scope } = caller.key;
        if (!scope.matches(channel)) throw new Problem("channel_not_authorized");
        permit(caller, "presence");
        const { isFound, isComplete } = await states.setFor(spaceOf(app), channel, peerId, json);
        if (!isComplete) throw new Problem("backend_error", "Not every node has responded. Try again.", RETRY_SECONDS);
        if (!isFound) throw new Problem("peer_not_found", "The peer is not a member of this channel.");
        return { channel, peerId, state: body.state };
      },
    }),
  ];
}
