/**
 * Nodes joined by NATS. Core NATS may lose what it carries (a reconnect, a slow consumer, a failover); what makes it the
 * engine of the contract is around it: lanes are numbered and kept (lanes.ts), followed and repaired (watches.ts, ears.ts),
 * what is for one peer keeps its order (inboxes.ts), nodes beat (beats.ts, nodes.ts), questions are asked of those who are there
 * (asks.ts, questions.ts), long texts are split (payload.ts, fragments.ts), and errors thrown in callbacks and timers stop at a
 * boundary (boundary.ts, guarded-end.ts).
 *
 * State first, then the contract's calls, then how nodes come and go; what arrives is in arrivals.ts, what time brings in pulse.ts.
 */
import type { ChannelCount, Claim, Engine, Envelope, MemberState, NodeEnd, RemoteMembers } from "../engine.ts";
import { UNAVAILABLE } from "../engine.ts";
import { Link, type LinkOptions } from "../transport/nats.ts";
import { Claims } from "./capacity-claims.ts";
import { Watches } from "./channel-subscriptions.ts";
import { Arrivals } from "./control-messages.ts";
import { Inboxes } from "./direct-messages.ts";
import * as wire from "./encode.ts";
import { Boundary, type Fault } from "./failure-boundary.ts";
import { Beats } from "./heartbeats.ts";
import { GuardedEnd } from "./node-callbacks.ts";
import { BEAT_MS, Nodes, type OtherNode } from "./nodes.ts";
import { Lanes } from "./outgoing-streams.ts";
import { MESSAGE_MAX_CHARS } from "./payload.ts";
import { Sends } from "./pending-direct-messages.ts";
import { countsOf, Questions } from "./pending-requests.ts";
import { Asks } from "./requests.ts";
import { Replies } from "./responder.ts";
import { WhoAnswers } from "./stream-state-responder.ts";
import { Subjects } from "./subjects.ts";
import { Pulse } from "./ticker.ts";

export interface NatsOptions extends LinkOptions {
  readonly prefix: string;
  readonly beatMs?: number;
  readonly nowMs?: () => number;
  /** An error was thrown in a callback or a timer of the engine and was stopped there. Absent: it is a warning. */
  readonly fault?: Fault;
  /** The link to NATS is up again, or down. */
  readonly changed?: (isUp: boolean) => void;
}

/** What there is from `attach` on. */
interface Attached {
  readonly end: GuardedEnd;
  readonly subjects: Subjects;
  readonly lanes: Lanes;
  readonly nodes: Nodes;
  readonly asks: Asks;
  readonly watches: Watches;
  readonly inboxes: Inboxes;
  readonly claims: Claims;
  readonly replies: Replies;
  readonly beats: Beats;
}

export class NatsEngine implements Engine {
  private readonly nowMs: () => number;
  private readonly beatMs: number;
  private readonly questions: Questions;
  private readonly sends: Sends;
  private readonly boundary: Boundary;
  private attached: Attached | undefined;
  private pulse: Pulse | undefined;
  private lastNumber = 0;
  private isClosed = false;

  private constructor(
    private readonly link: Link,
    private readonly options: NatsOptions,
  ) {
    this.nowMs = options.nowMs ?? (() => performance.now());
    this.beatMs = options.beatMs ?? BEAT_MS;
    this.questions = new Questions(this.nowMs);
    this.sends = new Sends(this.nowMs);
    this.boundary = new Boundary(options.fault ?? ((error) => options.warn?.(`a fault between nodes: ${error}`)));
  }

  static async connect(options: NatsOptions): Promise<NatsEngine> {
    return new NatsEngine(await Link.open(options), options);
  }

  get isUp(): boolean {
    return this.link.isUp && !this.isClosed;
  }

  /** Other nodes that are there now. */
  get others(): number {
    return this.attached?.nodes.all.length ?? 0;
  }

  attach(node: NodeEnd): void {
    const { link, nowMs, beatMs, questions, options, boundary } = this;
    const { id } = node;
    const end = new GuardedEnd(node, boundary);
    const subjects = new Subjects(options.prefix, id);
    const lanes = new Lanes(id, (app, channel) => subjects.lane(app, channel), nowMs);
    const nodes = new Nodes({
      self: id,
      beatMs,
      nowMs,
      came: (other) => this.came(other),
      gone: (other) => this.gone(other),
    });
    const nextNumber = (): number => ++this.lastNumber;
    const asks = new Asks({ self: id, link, subjects, nodes, questions, nextNumber });
    const watches = new Watches({ end, link, subjects, nodes, asks, warn: (text) => options.warn?.(text) });
    const inboxes = new Inboxes({ end, link, subjects, nodes, boundary, nowMs, odd: () => this.odd("for a peer") });
    const claims = new Claims(id, (app) => end.localConnections(app), nowMs);
    const later = (run: () => void, ms: number): void =>
      void setTimeout(() => this.isClosed || boundary.run({ in: "timer", step: "who" }, run), ms);
    const whoAnswers = new WhoAnswers({ end, lanes, boundary, nowMs, later });
    const replies = new Replies({ end, lanes, inboxes, claims, boundary, whoAnswers });
    const beats = new Beats({ end, link, subjects, nodes, boundary, beatMs, nowMs });
    this.attached = { end, subjects, lanes, nodes, asks, watches, inboxes, claims, replies, beats };
    link.on({
      down: () => this.down(),
      up: () => this.back(),
      failed: (error, context) => boundary.report(error, context),
      misheard: (error, context) => {
        boundary.report(error, context);
        boundary.doubt();
      },
    });
    const { sends } = this;
    const odd = (where: string): void => this.odd(where);
    const arrivals = new Arrivals({ end, nodes, watches, replies, asks, sends, questions, boundary, odd });
    link.subscribe(subjects.answers, (heard) => arrivals.answer(heard));
    for (const subject of [subjects.node(id), subjects.all]) link.subscribe(subject, (heard) => arrivals.toAll(heard));
    beats.send(false);
    this.pulse = new Pulse({ link, end, nodes, beats, claims, questions, sends, lanes, watches, boundary });
    this.pulse.begin(beatMs);
  }

  /** Resolves when all that this node has given is with the server, and it has what was there for it. */
  flush(): Promise<void> {
    return this.link.flush();
  }

  /** What it gives */

  publish(app: string, channel: string, envelope: Envelope): boolean {
    if (!this.isUp || !fits(envelope)) return false;
    const { subject, item } = this.all.lanes.give(app, channel, (place) => wire.message(place, envelope));
    this.link.publish(subject, item);
    return true;
  }

  announce(app: string, channel: string, joined: readonly MemberState[], left: readonly string[]): void {
    if (this.isClosed) return;
    // Also while nothing gets through: whoever hears us again finds the number missing and asks for it.
    for (const change of wire.changesOf({ joined, left })) {
      const { subject, item } = this.all.lanes.give(app, channel, (place) => wire.members(place, change));
      if (this.isUp) this.link.publish(subject, item);
    }
  }

  send(app: string, to: string, envelope: Envelope, isHere: boolean): number | Promise<number> {
    if (!this.isUp || !fits(envelope)) return UNAVAILABLE;
    const { end, subjects } = this.all;
    const number = ++this.lastNumber;
    const text = wire.direct({ node: end.id, number, app, to, envelope });
    this.link.publish(subjects.peer(app, to), text, subjects.answer(number));
    return this.sends.expect(number, isHere ? undefined : text);
  }

  hold(app: string, peerId: string): void {
    if (!this.isClosed) this.all.inboxes.hold(app, peerId);
  }

  release(app: string, peerId: string): void {
    this.all.inboxes.release(app, peerId);
  }

  watch(app: string, channel: string, found: (members: RemoteMembers) => void): void {
    const { watches, end } = this.all;
    watches.open(app, channel, (members) => end.found(app, channel, () => found(members)));
  }

  unwatch(app: string, channel: string): void {
    this.all.watches.close(app, channel);
  }

  async block(app: string, peerId: string, untilMs: number): Promise<void> {
    await this.all.asks.allOf({ what: "block", app, peerId, untilMs });
  }

  async kick(app: string, peerId: string): Promise<number> {
    const { answers } = await this.all.asks.allOf({ what: "kick", app, peerId });
    return sum(answers.map(([, answer]) => (answer.what === "kick" ? answer.closed : 0)));
  }

  async channels(app: string): Promise<readonly ChannelCount[] | undefined> {
    const { answers, isWhole } = await this.all.asks.allOf({ what: "channels", app });
    return isWhole ? answers.flatMap(([, answer]) => countsOf(answer)) : undefined;
  }

  async members(app: string, channel: string): Promise<RemoteMembers | undefined> {
    const { answers, isWhole } = await this.all.asks.allOf({ what: "members", app, channel });
    if (!isWhole) return undefined;
    return new Map(answers.map(([node, answer]) => [node.id, answer.what === "members" ? answer.members : []]));
  }

  counted(app: string, connections: number): void {
    this.all.beats.counted(app, connections);
  }

  claim(app: string, cap: number): Claim | undefined | Promise<Claim | undefined> {
    const { claims, asks, nodes } = this.all;
    const known = this.connections(app);
    const isAlone = !this.isUp || nodes.all.length === 0;
    if (isAlone || !claims.isNear(app, cap, known)) return claims.decided(claims.take(app), cap, known);
    const claim = claims.take(app);
    return new Promise((resolve) =>
      asks.all({ what: "room", app, n: claim.n }, (answers) => {
        // Whoever has not answered has what it last told.
        const taken = nodes.all.map(({ name, connections }) => {
          const answer = answers.get(name);
          return answer?.what === "room" ? answer.taken : (connections.get(app) ?? 0);
        });
        resolve(claims.decided(claim, cap, sum(taken)));
      }),
    );
  }

  connections(app: string): number {
    return sum(this.all.nodes.all.map(({ connections }) => connections.get(app) ?? 0));
  }

  async nudge(app?: string): Promise<void> {
    const began = this.nowMs();
    const { answers } = await this.all.asks.allOf({ what: "look", app });
    if (app === undefined) return;
    // What it has told meanwhile may be younger than its answer.
    for (const [node, answer] of answers)
      if (answer.what === "look" && node.countedMs < began) node.connections.set(app, answer.connections);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.pulse?.end();
    if (this.link.isUp && this.attached) {
      this.link.publish(this.all.subjects.all, wire.farewell(this.all.end.id));
      // What is under way to us is still answered.
      await Promise.race([this.link.drain(), Bun.sleep(this.beatMs)]).catch(() => undefined);
    }
    this.isClosed = true;
    this.questions.end();
    this.sends.fail();
    await this.link.close();
  }

  private odd(where: string): void {
    this.options.warn?.(`something that no node of ours sends has arrived ${where}`);
  }

  private get all(): Attached {
    if (!this.attached) throw new Error("the engine is used before it is attached");
    return this.attached;
  }

  /** Nodes come and go */

  private came(node: OtherNode): void {
    // It learns of us at once, and says where its lanes stand.
    this.all.beats.send(false);
    this.all.watches.resync(node);
  }

  private gone(node: OtherNode): void {
    this.all.watches.gone(node);
    this.questions.gone(node.name);
    this.all.end.nodeGone(node.id);
  }

  private down(): void {
    this.sends.fail();
    this.options.changed?.(false);
  }

  /** The link is up again: nobody could be heard, and nobody has heard us. */
  private back(): void {
    const { nodes, lanes, watches, beats } = this.all;
    this.options.changed?.(true);
    nodes.wasDeaf();
    lanes.repeatAll();
    beats.send(true);
    for (const node of nodes.all) watches.resync(node);
  }
}

/** Limits of the protocol are far below this. Checked first, because a text that cannot be sent must not get a sequence number. */
const fits = ({ metadataJson, dataJson }: Envelope): boolean =>
  dataJson.length + (metadataJson?.length ?? 0) <= MESSAGE_MAX_CHARS;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
