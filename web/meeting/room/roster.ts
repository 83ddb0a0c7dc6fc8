/**
 * Who is in the room: the members of its channel in the order in which they came, and for a while those who are missing. After an outage of the
 * service each page comes back at a moment of its own. Who is back first must not end the calls with the others, which went on all the time.
 */
import type { Channel } from "../../../client/src/channel.ts";
import type { Member } from "../../../client/src/events/types.ts";
import { type States, stateOf } from "../../../client/src/state.ts";
import type { Person, PersonState } from "./contract.ts";
import { type Metadata, personOf } from "./people.ts";

/** As long as the service gives a person to come back. */
const MISSING_MS = 30_000;

interface Entry {
  member: Member<Metadata>;
  /** The last one that is known: a connection has none at first. */
  state: Partial<PersonState> | null;
  isMissing: boolean;
}

interface RosterEvents {
  /** Not for those of the first list, nor for those who were missing. */
  joined(person: Person): void;
  left(person: Person): void;
  /** Who is there, or what they say about themselves. */
  changed(): void;
  /** Who is there. Also if it is the same as before: this page is back. */
  listed(): void;
}

export class Roster {
  readonly #channel: Channel<unknown, Metadata>;
  readonly #states: States<PersonState>;
  readonly #events: RosterEvents;
  readonly #entries = new Map<string, Entry>();
  #hasList = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(channel: Channel<unknown, Metadata>, events: RosterEvents) {
    this.#channel = channel;
    this.#states = stateOf<PersonState>(channel as Channel<never, never>);
    this.#events = events;
  }

  get people(): readonly Person[] {
    return [...this.#entries.values()].map((entry) => this.#personOf(entry));
  }

  get ids(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Subscribes to the channel. */
  follow(): void {
    const { presence } = this.#channel;
    presence.on("joined", (member) => this.#joined(member));
    presence.on("left", ({ peerId }) => (presence.isSettling ? this.#misses(peerId) : this.#leaves(peerId)));
    presence.on("changed", (members) => this.#changed(members));
    this.#states.on("changed", ({ peerId, state }) => {
      const entry = this.#entries.get(peerId);
      if (entry && state) entry.state = state;
      this.#events.changed();
    });
    this.#channel.extend({
      received: ({ type, snapshot }) => {
        if (type !== "presence" || !snapshot) return;
        this.#hasList = true;
        this.#wait();
        this.#events.listed();
      },
    });
  }

  /** Others can be missed only while this page is connected: those who are missing get their time anew with the next list. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** By an admin. A person who is missing has no connection whose end would be seen. */
  removed(id: string): void {
    if (!this.#entries.get(id)?.isMissing) return;
    this.#leaves(id);
    this.#listChanged();
  }

  #joined(member: Member<Metadata>): void {
    const known = this.#entries.get(member.peerId);
    if (known) {
      Object.assign(known, { member, isMissing: false });
      return;
    }
    const entry: Entry = { member, state: null, isMissing: false };
    this.#entries.set(member.peerId, entry);
    if (this.#hasList) this.#events.joined(this.#personOf(entry));
  }

  #leaves(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#events.left(personOf(entry.member, undefined));
  }

  #misses(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.isMissing = true;
    this.#wait();
  }

  #changed(members: readonly Member<Metadata>[]): void {
    const present = new Map(members.map((member) => [member.peerId, member]));
    for (const [id, entry] of this.#entries) {
      const member = present.get(id);
      if (member) entry.member = member;
      // The channel does not show any more who is there.
      else if (!entry.isMissing) this.#entries.delete(id);
    }
    this.#listChanged();
  }

  #listChanged(): void {
    this.#events.changed();
    this.#events.listed();
  }

  #wait(): void {
    if (this.#missing().length > 0) this.#timer ??= setTimeout(() => this.#waitedLongEnough(), MISSING_MS);
  }

  #waitedLongEnough(): void {
    this.#timer = undefined;
    for (const id of this.#missing()) this.#leaves(id);
    this.#listChanged();
  }

  #missing(): readonly string[] {
    return [...this.#entries].filter(([, { isMissing }]) => isMissing).map(([id]) => id);
  }

  #personOf({ member, state, isMissing }: Entry): Person {
    const isLost = isMissing || this.#states.all.get(member.peerId)?.lost === true;
    return personOf(member, { peerId: member.peerId, state, ...(isLost && { lost: true }) });
  }
}
