/** The channel rules of the space of an application's rooms (base/ids.ts): the same for all rooms. */
import { type ChannelRule, ChannelRules } from "../../protocol/patterns/channel-rules.ts";
import { type RoomChannelKind, roomChannelKind } from "../../protocol/room-channels.ts";

/** A participant whose network is gone is shown for this time, and may continue the stay. */
export const STAY_GRACE_SEC = 30;
const CHAT_MESSAGES = 500;
const CHAT_SECONDS = 7 * 24 * 3600;
/** Signals that came while a page was away: it gets them when it is back. */
const INBOX_MESSAGES = 200;
const INBOX_SECONDS = 60;

const RULES: Readonly<Partial<Record<RoomChannelKind, ChannelRule>>> = {
  room: { pattern: "room", graceSec: STAY_GRACE_SEC },
  chat: { pattern: "chat", graceSec: 0, history: { messages: CHAT_MESSAGES, seconds: CHAT_SECONDS } },
  in: { pattern: "in", graceSec: 0, history: { messages: INBOX_MESSAGES, seconds: INBOX_SECONDS } },
};

/** The rules of all rooms. Patterns do not cover reserved names, so the kind of the channel decides. */
class RoomRules extends ChannelRules {
  constructor() {
    super([]);
  }

  override get isEmpty(): boolean {
    return false;
  }

  override ruleFor(channel: string): ChannelRule | undefined {
    const kind = roomChannelKind(channel);
    return kind && RULES[kind];
  }
}

export const ROOM_RULES: ChannelRules = new RoomRules();
