/**
 * What may be said in a room: signals in inboxes, lines in the chat, reactions, the state of a person. Who may write where is decided before
 * (access/tokens/room-access.ts). A mesh cannot keep two browsers that agree from sending each other anything; what the service can see, it decides here.
 */
import type { RoomRefusal } from "../../access/tokens/room-access.ts";
import type { RoomClaims, RoomSeat } from "../../access/tokens/room-token.ts";
import { CHAT_LINE_MAX_BYTES, CHAT_TEXT_RULE, isChatText } from "../../protocol/chat-text.ts";
import { isObject, type JsonObject, parseStrict } from "../../protocol/json.ts";
import { inboxChannel, roomChannelKind } from "../../protocol/room-channels.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { May } from "../contract/contract.ts";
import type { Floor } from "../contract/floor.ts";
import { SIGNAL_MAX_BYTES } from "../contract/limits.ts";
import { mayOf } from "../rules/rights.ts";
import type { Present } from "../stays/present.ts";
import { SignalBudget } from "./budget.ts";
import { ChatBudget } from "./chat-budget.ts";
import { ReactionRule } from "./reactions.ts";
import { SDP_LINE_MAX_CHARS, SDP_LINES_MAX, sendingOf } from "./sdp.ts";
import { isSmall } from "./size.ts";

type Refused = RoomRefusal | undefined;

interface SignalParts {
  readonly present: Present;
  readonly floor: Pick<Floor, "isMember">;
  readonly store: Pick<MeetingStore, "stay">;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
}

const STATE_FIELDS = ["audio", "video", "screen", "hand", "recording"] as const;
const DESCRIPTION_TYPES: readonly unknown[] = ["offer", "answer", "pranswer", "rollback"];
const CANDIDATE_FIELDS: readonly string[] = ["candidate", "sdpMid", "sdpMLineIndex", "usernameFragment"];
/** Keys and values that are strings: of a candidate with all its fields, and of a line of the chat. */
const SIGNAL_STRINGS_MAX = 1 + 2 * CANDIDATE_FIELDS.length;
const LINE_STRINGS_MAX = 2;
const SIGNAL_SHAPES = "a signal is {description:{type,sdp}}, {candidate} or {bye:true}";
/** No one is inside under this seat: it may say nothing. */
const NOTHING: May = { audio: false, video: false, screen: false, chat: false, record: false };

export class Signals {
  private readonly budget: SignalBudget;
  private readonly chatBudget: ChatBudget;
  private readonly reactions: ReactionRule;

  constructor(private readonly parts: SignalParts) {
    this.budget = new SignalBudget(parts.nowMs);
    this.chatBudget = new ChatBudget(parts.monotonicMs);
    this.reactions = new ReactionRule(parts.monotonicMs);
  }

  /**
   * What a message costs its sender is taken before its data is parsed, also if it is refused then: guests could keep the node busy with data
   * that is none. A promise: this node does not know the receiver yet.
   */
  refusalOfMessage(seat: RoomSeat, channel: string, dataJson: string): Refused | Promise<Refused> {
    const kind = roomChannelKind(channel);
    if (kind === "chat") return this.refusalOfLine(seat, dataJson);
    if (kind === "reactions") return this.reactions.refusalOf(seat.claims.id, dataJson);
    if (kind === "in") return this.refusalOfReceiver(seat, channel, dataJson);
    return notPermitted("Only the service publishes on this channel.");
  }

  private refusalOfLine(seat: RoomSeat, dataJson: string): Refused {
    if (Buffer.byteLength(dataJson) > CHAT_LINE_MAX_BYTES)
      return malformed(`A chat message can have at most ${CHAT_LINE_MAX_BYTES} bytes as JSON.`);
    if (!this.may(seat).chat) return notPermitted("Chat is turned off in this room.");
    const waitSeconds = this.chatBudget.take(seat.claims);
    if (waitSeconds > 0) return tooMuch("messages", waitSeconds);
    const data = isSmall(dataJson, 1, LINE_STRINGS_MAX) ? parsed(dataJson) : undefined;
    return data && onlyField(data) === "text" && isChatText(data.text) ? undefined : malformed(chatRule);
  }

  /**
   * An inbox has an owner who is inside, or its history would keep what is written to people who do not exist. A member may be known to its
   * sender before it is known to this node, as right after a sender's return on another node: then the store is asked.
   */
  private refusalOfReceiver(seat: RoomSeat, channel: string, dataJson: string): Refused | Promise<Refused> {
    const bytes = Buffer.byteLength(dataJson);
    if (bytes > SIGNAL_MAX_BYTES) return malformed(`A signal can have at most ${SIGNAL_MAX_BYTES} bytes as JSON.`);
    const { claims } = seat;
    const receiver = channel.slice(inboxChannel(claims.room).length);
    if (!PARTICIPANT_SESSION.test(receiver)) return NOT_INSIDE;
    if (this.isKnown(claims, receiver)) return this.refusalOfSignal(seat, receiver, dataJson, bytes);
    // It counts twice then: a name may be made up, and the store is asked.
    const waitSeconds = this.budget.take(claims, UNKNOWN, bytes);
    if (waitSeconds > 0) return tooMuch("signals", waitSeconds);
    return this.parts.store
      .stay(receiver)
      .then((stay) =>
        stay?.app === claims.app && stay.room === claims.room && stay.ended === null
          ? this.refusalOfSignal(seat, receiver, dataJson, bytes)
          : NOT_INSIDE,
      );
  }

  private refusalOfSignal(seat: RoomSeat, receiver: string, dataJson: string, bytes: number): Refused {
    const waitSeconds = this.budget.take(seat.claims, receiver, bytes);
    if (waitSeconds > 0) return tooMuch("signals", waitSeconds);
    const data = isSmall(dataJson, 2, SIGNAL_STRINGS_MAX) ? parsed(dataJson) : undefined;
    return data ? refusalOfData(data, this.may(seat)) : malformed(noSignal);
  }

  refusalOfState(seat: RoomSeat, _channel: string, stateJson: string | null): RoomRefusal | undefined {
    if (stateJson === null) return undefined;
    const state = parsed(stateJson);
    if (!state) return malformed(stateRule);
    const may = this.may(seat);
    for (const [field, value] of Object.entries(state)) {
      if (!(STATE_FIELDS as readonly string[]).includes(field) || typeof value !== "boolean")
        return malformed(stateRule);
      if (value && isShared(field) && !may[field])
        return notPermitted(`${field}: you may not share ${SHARED[field]} in this room.`);
    }
    return undefined;
  }

  private may({ claims }: RoomSeat): May {
    const room = this.parts.present.room(claims.room);
    return room && claims.kind === "stay" ? mayOf(room.row, claims) : NOTHING;
  }

  private isKnown({ app, room }: RoomClaims, receiver: string): boolean {
    const { present, floor } = this.parts;
    return present.room(room)?.stays.has(receiver) === true || floor.isMember(app, room, receiver);
  }
}

/** Stands for all receivers that this node does not know. */
const UNKNOWN = "";
const PARTICIPANT_SESSION = /^[0-9a-f]{24}$/;
const NOT_INSIDE: RoomRefusal = {
  code: "peer_not_found",
  message: "No participant with this participantSession is in the room.",
};
const tooMuch = (what: string, seconds: number): RoomRefusal => ({
  code: "rate_limited",
  message: `Too many ${what} in this room. Wait ${seconds} second${seconds === 1 ? "" : "s"}.`,
});

const SHARED = { audio: "a microphone", video: "a camera", screen: "a screen" } as const;
const isShared = (field: string): field is keyof typeof SHARED => field in SHARED;

const stateRule = `A state in a room has only these fields, each true or false: ${STATE_FIELDS.join(", ")}.`;
const noSignal = `The data is not a signal: ${SIGNAL_SHAPES}.`;
const chatRule = `A chat message is {text}, with ${CHAT_TEXT_RULE}.`;

const malformed = (message: string): RoomRefusal => ({ code: "malformed_message", message });
const notPermitted = (message: string): RoomRefusal => ({ code: "action_not_permitted", message });

/** A text with a key twice is refused: it is passed on as it came, and its receiver may read the other value. */
function parsed(json: string): JsonObject | undefined {
  const strict = parseStrict(json);
  return strict.ok && isObject(strict.value) ? strict.value : undefined;
}

/** The only field of the object; undefined if it has none, or several. */
function onlyField(data: JsonObject): string | undefined {
  const [field, ...others] = Object.keys(data);
  return others.length === 0 ? field : undefined;
}

function refusalOfData(data: JsonObject, may: May): Refused {
  switch (onlyField(data)) {
    case "bye":
      return data.bye === true ? undefined : malformed("bye: it is true, or absent.");
    case "candidate":
      return refusalOfCandidate(data.candidate);
    case "description":
      return refusalOfDescription(data.description, may);
    default:
      return malformed(noSignal);
  }
}

/** null: there are no more candidates. */
function refusalOfCandidate(candidate: unknown): RoomRefusal | undefined {
  if (candidate === null) return undefined;
  const isCandidate =
    isObject(candidate) &&
    typeof candidate.candidate === "string" &&
    Object.entries(candidate).every(
      ([field, value]) =>
        CANDIDATE_FIELDS.includes(field) && (value === null || typeof value === "string" || typeof value === "number"),
    );
  return isCandidate
    ? undefined
    : malformed(`candidate: it is null, or has the fields ${CANDIDATE_FIELDS.join(", ")}.`);
}

function refusalOfDescription(description: unknown, may: May): RoomRefusal | undefined {
  if (!isObject(description) || !DESCRIPTION_TYPES.includes(description.type) || typeof description.sdp !== "string")
    return malformed("description: it has a type (offer, answer) and an sdp.");
  if (Object.keys(description).length !== 2) return malformed("description: it has the fields type and sdp only.");
  const sending = sendingOf(description.sdp);
  if (!sending)
    return malformed(
      `description.sdp: it is not written as browsers write it (RFC 8866), or has over ${SDP_LINES_MAX} lines, or one of over ${SDP_LINE_MAX_CHARS} characters.`,
    );
  const { audio, video, other } = sending;
  if (other > 0) return notPermitted("description.sdp: only audio and video can be sent in a room.");
  // Besides the microphone, a screen may have sound.
  if (audio > (may.audio ? 2 : 0))
    return notPermitted(
      may.audio
        ? "description.sdp: at most 2 audio sections may send."
        : "description.sdp: you may not send audio in this room.",
    );
  const videoMax = Number(may.video) + Number(may.screen);
  if (video > videoMax)
    return notPermitted(
      videoMax > 0
        ? `description.sdp: at most ${videoMax} video section${videoMax > 1 ? "s" : ""} may send.`
        : "description.sdp: you may not send video in this room.",
    );
  return undefined;
}
