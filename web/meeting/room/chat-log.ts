/** The chat of a room: earlier lines first, each line once, one's own when the service has accepted it. */
import type { Channel } from "../../../client/src/channel.ts";
import type { Message } from "../../../client/src/events/message.ts";
import { history } from "../../../client/src/history.ts";
import { CHAT_MAX_CHARS, typedChatText } from "../../../src/protocol/chat-text.ts";
import { SERVICE } from "../../../src/protocol/room-channels.ts";
import type { ChatLine } from "./contract.ts";
import { type Metadata, nameOf } from "./people.ts";

interface Line {
  readonly text?: unknown;
}

export interface Writer {
  readonly participantSession: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
}

const EARLIER_LINES = 200;
/** Ids of lines that were shown; a page that has missed lines reads as many. */
const SHOWN_MAX = 500;
const PAGE_MAX = 100;

export class ChatLog {
  readonly #channel: Channel<Line>;
  readonly #self: Writer;
  readonly #show: (line: ChatLine) => void;
  readonly #shown = new Set<string>();
  /** How many lines of before this page are still to come. */
  #earlier = 0;
  #isFirst = true;

  constructor(channel: Channel<Line>, self: Writer, show: (line: ChatLine) => void) {
    this.#channel = channel;
    this.#self = self;
    this.#show = show;
  }

  /** Not before the room's channel is followed: the chat is for those whom the others see. */
  follow(): void {
    const channel = this.#channel;
    Object.assign(channel.options, { rewind: EARLIER_LINES, senderMetadata: true });
    channel.on("subscribed", ({ replay }) => {
      if (this.#isFirst) this.#earlier = replay;
      this.#isFirst = false;
    });
    channel.on("message", (message) => this.#received(message));
    channel.on("gap", () => void this.#readMissed().catch(() => undefined));
  }

  /** Sends what a person has typed or pasted, without what the service refuses; nothing if nothing is left. */
  async say(typed: string): Promise<void> {
    const text = typedChatText(typed);
    if (text === "") return;
    const { participantSession, name, isAdmin, isGuest } = this.#self;
    const { pos, id } = await this.#channel.publish({ text });
    this.#add({
      id: pos ?? id ?? "",
      from: participantSession,
      name,
      isAdmin,
      isGuest,
      text,
      timeMs: Date.now(),
      isEarlier: false,
    });
  }

  #received(message: Message<Line>): void {
    const isEarlier = message.replay === true && this.#earlier-- > 0;
    const line = this.#lineOf(message, isEarlier);
    if (line) this.#add(line);
  }

  /** More was missed than the service could send by itself. */
  async #readMissed(): Promise<void> {
    const { messages } = await history(this.#channel, { limit: PAGE_MAX });
    for (const message of [...messages].reverse()) {
      const line = this.#lineOf(message, false);
      if (line) this.#add(line);
    }
  }

  #lineOf({ from, data, pos, id, time, fromMetadata }: Message<Line>, isEarlier: boolean): ChatLine | undefined {
    const text = data?.text;
    if (typeof text !== "string") return undefined;
    const metadata = fromMetadata as Metadata;
    const isOwn = from === this.#self.participantSession;
    return {
      id: pos ?? id ?? "",
      from: from === SERVICE ? undefined : from,
      name: isOwn ? this.#self.name : nameOf(metadata),
      isAdmin: isOwn ? this.#self.isAdmin : metadata?.isAdmin === true,
      isGuest: isOwn ? this.#self.isGuest : metadata?.isGuest === true,
      text: text.slice(0, CHAT_MAX_CHARS),
      timeMs: time ?? Date.now(),
      isEarlier,
    };
  }

  #add(line: ChatLine): void {
    if (this.#shown.has(line.id)) return;
    const [oldest] = this.#shown;
    if (this.#shown.size >= SHOWN_MAX && oldest !== undefined) this.#shown.delete(oldest);
    this.#shown.add(line.id);
    this.#show(line);
  }
}
