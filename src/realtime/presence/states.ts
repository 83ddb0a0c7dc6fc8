/** What members say about themselves in a channel: the checks of the `state` frame, in the order of the protocol (history 4). */
import { z } from "zod";
import { channelRefusal } from "../../access/admission/permissions.ts";
import { asSpaceId, type SpaceId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { bitOf } from "../../protocol/actions.ts";
import type { Code } from "../../protocol/codes.ts";
import type { ClientFrame } from "../../protocol/frames.ts";
import { isObject, parseStrict } from "../../protocol/json.ts";
import { CHANNEL_MAX_BYTES, PEER_ID_MAX_CHARS, STATE_MAX_BYTES } from "../../protocol/limits.ts";
import { rawValue } from "../../protocol/scan.ts";
import { takeState } from "../connections/rates.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Connection } from "../state/connection.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Subscription } from "../state/subscription.ts";
import type { Presence } from "./presence.ts";

export const PRESENCE = bitOf("presence");

const MALFORMED = `\`state\` must be an object or null, with at most ${STATE_MAX_BYTES} bytes as JSON and no key twice.`;
const NOT_ANNOUNCED = "Subscribe to this channel and wait for its roster before you set a state.";
const TOO_MANY = "Too many states on this connection. Send the newest one a little later.";

export interface StateRefusal {
  readonly code: Code;
  /** Absent: the usual text of the code. */
  readonly message?: string | undefined;
  /** Its roster is still to come: the client asks again by itself, and operators need not see it. */
  readonly isEarly?: boolean;
}

/** The JSON text of a state, `null` for none, or `undefined` if it may not be one. */
export function checkedState(json: string | undefined): string | null | undefined {
  if (json === undefined || Buffer.byteLength(json) > STATE_MAX_BYTES) return undefined;
  if (json === "null") return null;
  // Strictly, also inside: another node refuses an ambiguous text, and with it the whole announcement.
  const parsed = parseStrict(json);
  return parsed.ok && isObject(parsed.value) ? json : undefined;
}

const REQUEST = "set state";
const request = lazily(() =>
  z.object({
    app: z.string().max(128),
    channel: z.string().max(CHANNEL_MAX_BYTES),
    peerId: z.string().max(PEER_ID_MAX_CHARS),
    stateJson: z.string().max(STATE_MAX_BYTES).nullable(),
  }),
);
const response = lazily(() => z.boolean());

/** Its peer may be shown before the subscribe is acked, if it publishes: a state is only for a client that knows of the ack. */
const mayHaveState = ({ isVisible, state: { kind } }: Subscription): boolean =>
  (isVisible && kind !== "opening") || kind === "awaitingTick";

interface StatesParts {
  readonly spaces: Spaces;
  readonly nodeRequests: NodeRequests;
  readonly presence: Presence;
  readonly emitter: Emitter;
  readonly roomHooks: RoomHooks;
}

export class States {
  constructor(private readonly parts: StatesParts) {
    parts.nodeRequests.onRequest(REQUEST, (payload) => this.setHere(request().parse(payload)));
  }

  /** Sets the state of a member on every node: the newest of its connections counts, wherever it is. `null`: no state. */
  async setFor(
    spaceId: SpaceId,
    channel: string,
    peerId: string,
    stateJson: string | null,
  ): Promise<{ isFound: boolean; isComplete: boolean }> {
    const payload = { app: spaceId, channel, peerId, stateJson };
    const { answers, isComplete } = await this.parts.nodeRequests.gather(REQUEST, payload, (one) =>
      response().parse(one),
    );
    return { isFound: answers.includes(true), isComplete };
  }

  /** Returns whether the peer is a member through this node. */
  private setHere({ app, channel, peerId, stateJson }: Infer<typeof request>): boolean {
    const { spaces, presence } = this.parts;
    const state = stateJson === null ? null : checkedState(stateJson);
    const member = spaces.channel(asSpaceId(app), channel)?.members.get(peerId);
    if (!member || state === undefined) return false;
    return presence.setStateOf(member, state ?? undefined);
  }

  /** `text`: the frame as it came. Returns its state, or why it is refused. */
  read(connection: Connection, fields: ClientFrame["fields"], text: string): string | null | StateRefusal {
    if (!takeState(connection)) return { code: "rate_limited", message: TOO_MANY };
    const state = "state" in fields ? checkedState(rawValue(text, "state")) : undefined;
    return state === undefined ? { code: "malformed_message", message: MALFORMED } : state;
  }

  /** Returns why the state is refused. */
  set(connection: Connection, channel: unknown, state: string | null): StateRefusal | undefined {
    if (typeof channel !== "string") return { code: "invalid_channel" };
    const subscription = connection.subscriptionTo(channel);
    const refusal = channelRefusal(channel, PRESENCE, connection, subscription !== undefined);
    if (refusal) return { code: refusal };
    // A client with a roster cannot know that its join is shown with the next tick.
    if (!subscription?.member || !mayHaveState(subscription))
      return { code: "channel_not_authorized", message: NOT_ANNOUNCED, isEarly: subscription !== undefined };
    const { seat } = connection;
    const refusedByRoom = seat && this.parts.roomHooks.refusalOfState(seat, channel, state);
    if (refusedByRoom) return refusedByRoom;
    this.parts.presence.setState(subscription, state ?? undefined);
    this.parts.emitter.stateSet(connection, channel, state ?? "null");
    return undefined;
  }
}
