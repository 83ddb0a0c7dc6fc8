/** A tab of a peer: one connection that applies the frames it gets as a client does, and keeps what it knows of each channel. */
import type { SecretKey } from "./admin.ts";
import { selfSigned } from "./jwt.ts";
import { welcomed } from "./wire/connect.ts";
import type { Wire, WireEvent } from "./wire/wire.ts";

/** What is shown of a member, as text to be compared: its metadata and its state. */
export type Shown = string;
export const shownAs = ({ metadata = null, state = null }: Entry): Shown => JSON.stringify([metadata, state]);

interface Entry {
  readonly metadata?: unknown;
  readonly state?: unknown;
}

interface PeerEntry extends Entry {
  readonly peerId: string;
  readonly lost?: boolean;
}

interface Frame {
  readonly type: string;
  readonly requestId?: string;
  readonly code?: string;
  readonly channel?: string;
  readonly joined?: readonly PeerEntry[];
  readonly left?: readonly PeerEntry[];
  readonly changed?: readonly PeerEntry[];
  readonly snapshot?: boolean;
}

/** The connection has ended, by the service or the network. */
export class Ended extends Error {}

class Refused extends Error {
  constructor(readonly code: string) {
    super(`a request was refused: ${code}`);
  }
}

export interface TabOptions {
  readonly url: string;
  readonly key: SecretKey;
  readonly peerId: string;
  readonly metadata: unknown;
}

export class Tab {
  readonly peerId: string;
  readonly metadata: unknown;
  /** By channel: what it has said about itself last, as far as that was accepted. */
  readonly states = new Map<string, unknown>();
  /** Presence frames about its own peer: there must be none. */
  readonly aboutItself: string[] = [];
  isOpen = true;
  /** By channel and peer: the other members, as it was shown them; `undefined` before its roster. */
  private readonly views = new Map<string, Map<string, PeerEntry> | undefined>();
  private readonly unanswered = new Map<string, { answered: () => void; failed: (error: Error) => void }>();
  private readonly awaited = new Map<string, PromiseWithResolvers<void>>();
  private requests = 0;
  private wire: Wire | undefined;

  private constructor({ peerId, metadata }: TabOptions) {
    this.peerId = peerId;
    this.metadata = metadata;
  }

  /** Resolves with its welcome: a connection that begins after that is newer. */
  static async open(options: TabOptions): Promise<Tab> {
    const { url, key, peerId, metadata } = options;
    const token = selfSigned(key.keyId, key.secret, { sub: peerId, peerMetadata: metadata });
    const tab = new Tab(options);
    try {
      tab.wire = await welcomed(url, `token=${token}`, { heard: (event) => tab.heard(event) });
    } catch (error) {
      throw new Ended(`${peerId} has no welcome: ${error}`);
    }
    return tab;
  }

  get channels(): readonly string[] {
    return [...this.views.keys()];
  }

  /** Subscribes, or subscribes again. Resolves with the roster. */
  async subscribe(channel: string): Promise<void> {
    const roster = Promise.withResolvers<void>();
    // If the connection ends before the ack, no one waits for the roster.
    roster.promise.catch(() => undefined);
    this.awaited.set(channel, roster);
    await this.request({ type: "subscribe", channel, state: true });
    await roster.promise;
  }

  async unsubscribe(channel: string): Promise<void> {
    this.views.delete(channel);
    this.states.delete(channel);
    await this.request({ type: "unsubscribe", channel });
  }

  /** Too many at once are refused, and change nothing. */
  async setState(channel: string, state: unknown): Promise<void> {
    try {
      await this.request({ type: "state", channel, state });
      this.states.set(channel, state);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "rate_limited")) throw error;
    }
  }

  /** With a goodbye. */
  close(): void {
    this.end();
    this.wire?.close();
  }

  /** Without one, like a client whose network has failed. */
  lose(): void {
    this.end();
    this.wire?.drop();
  }

  /** The other members of a channel, as it was shown them. */
  known(channel: string): ReadonlyMap<string, Shown> | undefined {
    const view = this.views.get(channel);
    return (
      view && new Map([...view].map(([peerId, entry]) => [peerId, `${shownAs(entry)}${entry.lost ? " lost" : ""}`]))
    );
  }

  private end(): void {
    this.ended(new Ended("the tab is closed"));
  }

  private request(frame: object): Promise<void> {
    if (!this.isOpen) throw new Ended(`${this.peerId} has no connection`);
    const requestId = String(++this.requests);
    return new Promise((answered, failed) => {
      this.unanswered.set(requestId, { answered, failed });
      this.wire?.send({ ...frame, requestId });
    });
  }

  private ended(error: Ended): void {
    this.isOpen = false;
    this.views.clear();
    for (const { failed } of this.unanswered.values()) failed(error);
    for (const { reject } of this.awaited.values()) reject(error);
    this.unanswered.clear();
  }

  private heard(event: WireEvent): void {
    if (!this.isOpen) return;
    if (event.kind === "close") this.ended(new Ended(`the connection of ${this.peerId} has ended with ${event.code}`));
    else if (event.kind === "end") this.ended(new Ended(`the connection of ${this.peerId} has ended without a close`));
    else if (event.kind === "text") this.received(event.text);
  }

  private received(text: string): void {
    const frame = JSON.parse(text) as Frame;
    if (frame.type === "ack" || frame.type === "error") this.answered(frame);
    else if (frame.type === "presence") this.presence(frame, text);
    else if (frame.type === "state") this.changedStates(frame);
  }

  private answered({ requestId = "", code }: Frame): void {
    const request = this.unanswered.get(requestId);
    this.unanswered.delete(requestId);
    if (code === undefined) request?.answered();
    else request?.failed(new Refused(code));
  }

  private presence({ channel = "", joined = [], left = [], snapshot }: Frame, text: string): void {
    if ([...joined, ...left].some(({ peerId }) => peerId === this.peerId)) this.aboutItself.push(text);
    const roster = this.awaited.get(channel);
    if (snapshot && roster) {
      this.awaited.delete(channel);
      this.views.set(channel, new Map(joined.map((entry) => [entry.peerId, entry])));
      return roster.resolve();
    }
    const view = this.views.get(channel);
    for (const entry of joined) {
      // A member that is announced again with new metadata keeps its state.
      const { state, lost } = view?.get(entry.peerId) ?? {};
      view?.set(entry.peerId, { state, ...(lost && { lost }), ...entry });
    }
    for (const { peerId } of left) view?.delete(peerId);
  }

  private changedStates({ channel = "", changed = [] }: Frame): void {
    const view = this.views.get(channel);
    for (const { peerId, state, lost } of changed) {
      const known = view?.get(peerId);
      if (known) view?.set(peerId, { peerId, metadata: known.metadata, state, ...(lost && { lost }) });
    }
  }
}
