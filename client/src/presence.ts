/** The members of a channel, as this client sees them: without itself. */
import { Emitter } from "./events/emitter.ts";
import type { Entry, Frame } from "./events/frames.ts";
import type { Member, PresenceEvents } from "./events/types.ts";

/** A shorter roster is complete; a longer one may be the first of several parts, which follow each other closely. */
const ONE_PART_MAX_CHARS = 16_000;
const NEXT_PART_WITHIN_MS = 1000;

export class Presence<M = unknown> extends Emitter<PresenceEvents<M>> {
  readonly #used: () => void;
  readonly #ownId: () => string | undefined;
  readonly #byId = new Map<string, Member<M>>();
  #list: readonly Member<M>[] | undefined = [];
  /** Members of the time before this subscription that its roster has not confirmed. */
  #stale: Set<string> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** @internal While `left` is emitted for members whom a new roster does not have: the service has not said that they left. */
  isSettling = false;

  constructor(used: () => void, ownId: () => string | undefined) {
    super("channel.presence");
    this.#used = used;
    this.#ownId = ownId;
  }

  /** The same array until something changes. */
  get members(): readonly Member<M>[] {
    this.#list ??= [...this.#byId.values()];
    return this.#list;
  }

  get(peerId: string): Member<M> | undefined {
    return this.#byId.get(peerId);
  }

  /** @internal A new subscription begins: its roster replaces what is known. */
  begin(): void {
    this.pause();
    this.#stale = new Set(this.#byId.keys());
  }

  /** @internal There is no subscription at the moment: members stay until the next roster says otherwise. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** @internal */
  received({ joined = [], left = [], snapshot }: Frame, length: number): void {
    clearTimeout(this.#timer);
    for (const entry of joined) this.#add(entry as Member<M>);
    for (const { peerId } of left) this.#remove(peerId);
    if (!snapshot || length < ONE_PART_MAX_CHARS) this.#settle();
    else this.#timer = setTimeout(() => this.#settle(), NEXT_PART_WITHIN_MS);
    if (!this.#list) this.emit("changed", this.members);
  }

  /** @internal It is not known any more who is there: no one has left because of that. */
  clear(): void {
    this.pause();
    this.#stale = undefined;
    if (this.#byId.size === 0) return;
    this.#byId.clear();
    this.#list = [];
    this.emit("changed", this.#list);
  }

  protected override changed(): void {
    this.#used();
  }

  #settle(): void {
    const stale = this.#stale ?? [];
    this.#stale = undefined;
    this.isSettling = true;
    for (const peerId of stale) this.#remove(peerId);
    this.isSettling = false;
    if (!this.#list) this.emit("changed", this.members);
  }

  #add({ peerId, metadata }: Entry & Member<M>): void {
    // Earlier versions of the service send the metadata that another connection of the same peer has brought.
    if (peerId === this.#ownId()) return;
    const before = this.#byId.get(peerId);
    this.#stale?.delete(peerId);
    if (before && JSON.stringify(before.metadata) === JSON.stringify(metadata)) return;
    const member: Member<M> = metadata === undefined ? { peerId } : { peerId, metadata };
    this.#byId.set(peerId, member);
    this.#list = undefined;
    if (!before) this.emit("joined", member);
  }

  #remove(peerId: string): void {
    const member = this.#byId.get(peerId);
    if (!member) return;
    this.#byId.delete(peerId);
    this.#list = undefined;
    this.emit("left", member);
  }
}
