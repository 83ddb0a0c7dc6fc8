/** What the parts of a walk share: the nodes, the model's connections and messages, and the record of what happened. */
import { FakeClock } from "../../src/base/testing/fake-clock.ts";
import { ChannelRules, type Retention } from "../../src/protocol/patterns/channel-rules.ts";
import { Answers } from "./answers.ts";
import { DampingLog } from "./damping.ts";
import { Graces } from "./graces.ts";
import { Histories } from "./histories.ts";
import { makeHistory } from "./late-history.ts";
import type { Connection, Message } from "./model.ts";
import { States } from "./states.ts";
import { Streams } from "./streams.ts";
import { World, type WorldOptions } from "./world.ts";

/** A message is committed and delivered on its node at most this long after it was sent. */
export const COMMIT_MAX_MS = 8000;

export class Context {
  readonly world: World;
  readonly connections: Connection[] = [];
  readonly messages = new Map<number, Message>();
  readonly damping: DampingLog;
  readonly isOneNode: boolean;
  readonly startMs: number;
  lastReadMs: number;
  /** How often each kind of event happened: a walk without events would test nothing. */
  readonly counts = new Map<string, number>();
  /** What happened, for people to read. */
  readonly trail: string[] = [];
  /** When a connection has last published to a channel with history. */
  readonly lastStoredMs = new Map<Connection, number>();
  /** Checks that wait for an answer. */
  readonly promised: Promise<void>[] = [];

  readonly streams: Streams;
  readonly histories: Histories;
  readonly states: States;
  readonly graces: Graces;
  readonly answers: Answers;
  private readonly clock = new FakeClock();
  private readonly rules: ChannelRules;

  constructor(options: WorldOptions) {
    this.streams = new Streams(this.nowMs, this.idOf);
    this.rules = new ChannelRules(options.rules?.rules ?? []);
    this.world = new World(options, this.clock, options.rules && makeHistory(options.rules, this.streams, this.clock));
    this.isOneNode = options.nodes === 1;
    this.startMs = this.nowMs();
    this.damping = new DampingLog(this.nowMs);
    this.lastReadMs = this.startMs;
    this.histories = new Histories(this);
    this.states = new States(this);
    this.graces = new Graces(this);
    this.answers = new Answers(this);
  }

  nowMs = (): number => this.clock.wallMs();

  /** The id of a message and its scope: the peer of a token, or the key. */
  idOf = (number: number): string | undefined => {
    const { id, connection } = this.messages.get(number) ?? {};
    if (id === undefined || !connection) return undefined;
    return `${connection.key.type === "secret" ? connection.peerId : connection.key.id} ${id}`;
  };

  /** What a channel keeps; `undefined` if it has no history. */
  keepOf = (channel: string): Retention | undefined => this.rules.ruleFor(channel)?.history;

  graceMsOf = (channel: string): number => (this.rules.ruleFor(channel)?.graceSec ?? 0) * 1000;

  /** Whether it may have messages that are not committed and delivered on its node yet. */
  isCommitting(connection: Connection): boolean {
    return this.nowMs() - (this.lastStoredMs.get(connection) ?? Number.NEGATIVE_INFINITY) < COMMIT_MAX_MS;
  }

  /** Whether the store of history has answered every call since then. */
  wasFine(sinceMs: number): boolean {
    return (this.world.history?.badMs ?? Number.NEGATIVE_INFINITY) < sinceMs;
  }

  get open(): Connection[] {
    return this.connections.filter((connection) => connection.isOpen);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  note(what: string): void {
    this.trail.push(`${this.nowMs() - this.startMs} ms: ${what}`);
  }
}
