/** The connection of the page to its room: one client, subscribed to the room's channels. */
import type { Channel } from "../../../client/src/channel.ts";
import type { ParleyError } from "../../../client/src/events/errors.ts";
import type { Status } from "../../../client/src/events/types.ts";
import { Parley } from "../../../client/src/parley.ts";
import { type States, stateOf } from "../../../client/src/state.ts";

import {
  adminChannel,
  chatChannel,
  isReaction,
  type Reaction,
  reactionsChannel,
  roomChannel,
} from "../../../src/protocol/room-channels.ts";
import { Listeners } from "../call/listeners.ts";
import type { Signalling } from "../call/signalling.ts";
import { ChatLog } from "./chat-log.ts";
import type { Ending, Person, PersonState, RoomConnection, RoomEvents, RoomOpening } from "./contract.ts";
import { endingOf, isFinalRefusal, isStayLost } from "./ending.ts";
import { Inboxes } from "./inboxes.ts";
import { iceServersIn, noticeOf, queueOf } from "./notices.ts";
import type { Metadata } from "./people.ts";
import { Roster } from "./roster.ts";
import { claimsOf, serviceOf } from "./token.ts";

export const openRoom = (opening: RoomOpening): RoomConnection => new Room(opening);

class Room implements RoomConnection {
  readonly signalling: Signalling;
  readonly #inboxes: Inboxes;
  readonly #opening: RoomOpening;
  readonly #self: string;
  readonly #parley: Parley;
  readonly #channel: Channel<unknown, Metadata>;
  readonly #states: States<PersonState>;
  readonly #roster: Roster;
  readonly #chat: ChatLog;
  readonly #reactions: Channel<{ readonly name?: unknown }>;
  readonly #listeners = new Listeners<RoomEvents>();
  #state: PersonState | undefined;
  #isFirstToken = true;
  #isInside = false;
  #isOnline = false;
  #isEnded = false;

  constructor(opening: RoomOpening) {
    this.#opening = opening;
    const { connect, name, isAdmin, isGuest, isResumed = false } = opening;
    const { room, id: self } = claimsOf(connect.token);
    this.#self = self;
    const parley = new Parley({ url: serviceOf(connect.url), token: () => this.#nextToken() });
    this.#parley = parley;
    parley.on("status", (status) => this.#statusChanged(status));
    parley.on("welcome", ({ metadata }) => this.#metadataCame(metadata));
    parley.on("metadata", (metadata) => this.#metadataCame(metadata));
    this.#inboxes = new Inboxes(parley, { room, self, isResumed, others: () => this.#roster.ids });
    this.signalling = this.#inboxes;
    this.#channel = parley.channel<unknown, Metadata>(roomChannel(room));
    this.#states = stateOf<PersonState>(this.#channel as Channel<never, never>);
    this.#roster = new Roster(this.#channel, {
      joined: (person) => this.#listeners.emit("joined", person),
      left: (person) => this.#listeners.emit("left", person),
      changed: () => this.#listeners.emit("people"),
      listed: () => this.#inboxes.othersChanged(),
    });
    const writer = { participantSession: self, name, isAdmin, isGuest };
    this.#chat = new ChatLog(parley.channel(chatChannel(room)), writer, (line) => this.#listeners.emit("chat", line));
    // Not earlier: who sees this page in the room's channel sends signals at once. If it is refused, the client has ended.
    this.#reactions = parley.channel(reactionsChannel(room));
    this.#inboxes.ready.then(
      () => this.#enter(room),
      () => undefined,
    );
  }

  people(): readonly Person[] {
    return this.#roster.people;
  }

  setState(state: PersonState): void {
    this.#state = state;
    if (this.#isInside) this.#sendState(state);
  }

  say(text: string): Promise<void> {
    return this.#chat.say(text);
  }

  async react(name: Reaction): Promise<void> {
    await this.#reactions.publish({ name });
  }

  retry(): void {
    this.#parley.connect();
  }

  on<E extends keyof RoomEvents>(event: E, listener: (...args: RoomEvents[E]) => void): () => void {
    return this.#listeners.on(event, listener as never);
  }

  close(): void {
    this.#isEnded = true;
    this.#roster.pause();
    this.#parley.close();
  }

  #enter(room: string): void {
    if (this.#isEnded) return;
    this.#isInside = true;
    this.#roster.follow();
    this.#chat.follow();
    this.#reactions.on("message", ({ from, data }) => {
      if (from !== this.#self && isReaction(data?.name)) this.#listeners.emit("reaction", from, data.name);
    });
    if (this.#opening.isAdmin) this.#followLobby(room);
    this.#channel.on("message", (message) => {
      const notice = noticeOf(message);
      if (!notice) return;
      if (notice.notice === "removed") this.#roster.removed(notice.participantSession ?? "");
      this.#listeners.emit("notice", notice);
    });
    if (this.#state) this.#sendState(this.#state);
  }

  #sendState(state: PersonState): void {
    // Without a connection it is sent with the next one; one that the service does not allow is not shown to the others.
    this.#states.set(state).catch(() => undefined);
  }

  #followLobby(room: string): void {
    this.#parley.channel(adminChannel(room)).on("message", (message) => {
      const queue = queueOf(message);
      if (queue) this.#listeners.emit("queue", queue);
    });
  }

  async #nextToken(): Promise<string | null> {
    if (this.#isFirstToken) {
      this.#isFirstToken = false;
      return this.#opening.connect.token;
    }
    const token = await this.#opening.renew();
    // One of another stay does not continue this one: the others know this page by its participantSession.
    return token === null || claimsOf(token).id !== this.#self ? null : token;
  }

  #metadataCame(metadata: unknown): void {
    const iceServers = iceServersIn(metadata);
    if (iceServers) this.#listeners.emit("iceServers", iceServers);
  }

  #statusChanged({ state, error, retryInMs }: Status): void {
    if (state === "closed") return this.#end(endingOf(error));
    // The client would try forever, because to it the refusal is not one of the token.
    if (isStayLost(error)) return this.#stayLost();
    if (error && isFinalRefusal(error)) return this.#refused(error);
    const isOnline = state === "connected";
    if (isOnline !== this.#isOnline) {
      this.#isOnline = isOnline;
      if (!isOnline) this.#roster.pause();
      this.#listeners.emit("online", isOnline);
    }
    if (retryInMs !== undefined) this.#listeners.emit("retry", retryInMs);
  }

  #stayLost(): void {
    if (this.#isEnded) return;
    this.close();
    this.#listeners.emit("stayLost");
  }

  #refused(error: ParleyError): void {
    this.#end(endingOf(error));
    this.#parley.close();
  }

  #end(why: Ending): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#roster.pause();
    this.#listeners.emit("ended", why);
  }
}
