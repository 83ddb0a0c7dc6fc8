/**
 * Nodes joined by NATS. Core NATS may lose what it carries (a reconnect, a slow consumer, a failover); what makes it the
 * engine of the contract is around it: lanes are numbered and kept (lanes.ts), followed and repaired (watches.ts, ears.ts),
 * what is for one peer keeps its order (inboxes.ts), nodes beat (nodes.ts), questions are asked of those who are there (asks.ts,
 * questions.ts).
 *
 * State first, then the contract's calls, then what arrives, then time.
 */
import type { ChannelCount, Claim, Engine, Envelope, MemberState, NodeEnd, RemoteMembers } from "../engine.ts";
import { UNAVAILABLE } from "../engine.ts";
import { Asks } from "./asks.ts";
import { Claims } from "./claims.ts";
import * as decode from "./decode.ts";
import { Inboxes } from "./inboxes.ts";
import { Lanes } from "./lanes.ts";
import { type Heard, Link, type LinkOptions } from "./link.ts";
import { BEAT_MS, Nodes, type OtherNode } from "./nodes.ts";
import { partsOf, Questions } from "./questions.ts";
import { Replies } from "./replies.ts";
import { Sends } from "./sends.ts";
import { questionOf, Subjects } from "./subjects.ts";
import { Watches } from "./watches.ts";
import * as wire from "./wire.ts";

const TICKS_PER_BEAT = 8;
/** Of the connections of an application: a change by more is told before the next beat is due. */
const COUNT_DRIFT = 0.01;

export interface NatsOptions extends LinkOptions {
  readonly prefix: string;
  readonly beatMs?: number;
  readonly nowMs?: () => number;
  /** Something odd, in a sentence, for the log. */
  readonly warn?: (text: string) => void;
  /** The link to NATS is up again, or down. */
  readonly changed?: (isUp: boolean) => void;
}

/** What there is from `attach` on. */
interface Attached {
  readonly end: NodeEnd;
  readonly subjects: Subjects;
  readonly lanes: Lanes;
  readonly nodes: Nodes;
  readonly asks: Asks;
  readonly watches: Watches;
  readonly inboxes: Inboxes;
  readonly claims: Claims;
  readonly replies: Replies;
}

export class NatsEngine implements Engine {
  private readonly nowMs: () => number;
  private readonly beatMs: number;
  private readonly questions: Questions;
  private readonly sends: Sends;
  private attached: Attached | undefined;
  private ticking: ReturnType<typeof setInterval> | undefined;
  private lastBeatMs = 0;
  private toldCounts = new Map<string, number>();
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

  attach(end: NodeEnd): void {
    const { link, nowMs, beatMs, questions, options } = this;
    const { id } = end;
    const subjects = new Subjects(options.prefix, id);
    const lanes = new Lanes(id, (app, channel) => subjects.lane(app, channel), nowMs);
    const nodes = new Nodes({
      self: id,
      beatMs,
      nowMs,
      came: (node) => this.came(node),
      gone: (node) => this.gone(node),
    });
    const nextNumber = (): number => ++this.lastNumber;
    const asks = new Asks({ self: id, link, subjects, nodes, questions, nextNumber });
    const watches = new Watches({ end, link, subjects, nodes, asks, warn: (text) => options.warn?.(text) });
    const inboxes = new Inboxes({ end, link, subjects, nodes, odd: () => this.odd("for a peer") });
    const claims = new Claims(id, (app) => end.localConnections(app), nowMs);
    const replies = new Replies({ end, lanes, inboxes, claims });
    this.attached = { end, subjects, lanes, nodes, asks, watches, inboxes, claims, replies };
    link.subscribe(subjects.answers, (heard) => this.answer(heard));
    link.subscribe(subjects.node(id), (heard) => this.toAll(heard));
    link.subscribe(subjects.all, (heard) => this.toAll(heard));
    link.on({ down: () => this.down(), up: () => this.back() });
    this.beat(false);
    this.ticking = setInterval(() => this.tick(), beatMs / TICKS_PER_BEAT);
  }

  /** Resolves when all that this node has given is with the server, and it has what was there for it. */
  flush(): Promise<void> {
    return this.link.flush();
  }

  /** What it gives */

  publish(app: string, channel: string, envelope: Envelope): boolean {
    if (!this.isUp) return false;
    const { subject, item } = this.all.lanes.give(app, channel, (place) => wire.message(place, envelope));
    this.link.publish(subject, item);
    return true;
  }

  announce(app: string, channel: string, joined: readonly MemberState[], left: readonly string[]): void {
    if (this.isClosed) return;
    // Also while nothing gets through: whoever hears us again finds the number missing and asks for it.
    const { subject, item } = this.all.lanes.give(app, channel, (place) => wire.members(place, { joined, left }));
    if (this.isUp) this.link.publish(subject, item);
  }

  send(app: string, to: string, envelope: Envelope, isHere: boolean): number | Promise<number> {
    if (!this.isUp) return UNAVAILABLE;
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
    this.all.watches.open(app, channel, found);
  }

  unwatch(app: string, channel: string): void {
    this.all.watches.close(app, channel);
  }

  async block(app: string, peerId: string, untilMs: number): Promise<void> {
    await this.all.asks.allOf({ what: "block", app, peerId, untilMs });
  }

  async kick(app: string, peerId: string): Promise<number> {
    const answers = await this.all.asks.allOf({ what: "kick", app, peerId });
    return sum(answers.map(([, answer]) => (answer.what === "kick" ? answer.closed : 0)));
  }

  async channels(app: string): Promise<readonly ChannelCount[]> {
    const answers = await this.all.asks.allOf({ what: "channels", app });
    return answers.flatMap(([, answer]) => (answer.what === "channels" ? answer.counts : []));
  }

  async members(app: string, channel: string): Promise<RemoteMembers> {
    const answers = await this.all.asks.allOf({ what: "members", app, channel });
    return new Map(answers.map(([node, answer]) => [node.id, answer.what === "members" ? answer.members : []]));
  }

  counted(app: string, connections: number): void {
    const told = this.toldCounts.get(app) ?? 0;
    if (!this.isUp || Math.abs(connections - told) <= told * COUNT_DRIFT) return;
    this.toldCounts.set(app, connections);
    this.link.publish(this.all.subjects.all, wire.count(this.all.end.id, app, connections));
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
    const answers = await this.all.asks.allOf({ what: "look", app });
    if (app === undefined) return;
    // What it has told meanwhile may be younger than its answer.
    for (const [node, answer] of answers)
      if (answer.what === "look" && node.countedMs < began) node.connections.set(app, answer.connections);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    clearInterval(this.ticking);
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

  /** What arrives */

  private toAll({ text, respond }: Heard): void {
    const { end, nodes, watches, replies } = this.all;
    const one = decode.toAll(text);
    if (!one) return this.odd("for all nodes");
    if (one.kind === "farewell") return nodes.farewell(one.node);
    const wasKnown = nodes.known(one.node) !== undefined;
    const node = nodes.seen(one.node, one.kind === "beat" ? one.connections : undefined);
    if (!node) return;
    if (one.kind === "count") {
      node.connections.set(one.app, one.connections);
      node.countedMs = this.nowMs();
      return end.connectionsChanged(one.app);
    }
    if (one.kind === "question")
      replies.to(node.name, one.question, (answer) => partsOf(end.id, answer).forEach(respond));
    else if (wasKnown && (one.isBack || !one.hears.includes(end.id))) watches.resync(node);
  }

  private answer({ subject, text, isNobody }: Heard): void {
    const number = questionOf(subject);
    if (this.sends.has(number)) {
      if (isNobody) return this.handRound(number);
      const handed = decode.handedIn(text);
      return handed ? this.sends.handed(number, handed.count) : this.odd("as an answer");
    }
    if (isNobody) return;
    const answered = decode.answerIn(text);
    if (answered) this.questions.arrived(number, answered);
    // A second node that has handed a message on, when the first has said so already.
    else if (!decode.handedIn(text)) this.odd("as an answer");
  }

  /** Nobody has the inbox, as far as the server knows; a node that made it just now does. */
  private handRound(number: number): void {
    const { asks, nodes } = this.all;
    const text = this.sends.text(number);
    if (text === undefined) return this.sends.decided(number, 0, nodes.isSomebodySilent);
    const asked = nodes.all.length;
    this.sends.prolong(number);
    asks.all({ what: "hand", text }, (answers) => {
      const handed = [...answers.values()].flatMap((answer) => (answer.what === "hand" ? answer : []));
      const count = sum(handed.map((one) => one.count));
      const isUnsure = handed.length < asked || handed.some(({ isLate }) => isLate) || nodes.isSomebodySilent;
      this.sends.decided(number, count, isUnsure);
    });
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
    this.beat(false);
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
    const { nodes, lanes, watches } = this.all;
    this.options.changed?.(true);
    nodes.wasDeaf();
    lanes.repeatAll();
    this.beat(true);
    for (const node of nodes.all) watches.resync(node);
  }

  /** Time */

  private tick(): void {
    const { nodes, lanes, end } = this.all;
    // Whoever cannot hear takes nobody for gone: what was missed meanwhile is asked for by where it was left off.
    if (!this.isUp) nodes.wasDeaf();
    nodes.look();
    this.questions.sweep();
    this.sends.sweep();
    this.all.claims.sweep();
    for (const { app, channel, epoch, n, subject } of lanes.due(!this.isUp))
      if (this.isUp) this.link.publish(subject, wire.tail({ node: end.id, app, channel, epoch, n }));
    if (this.nowMs() - this.lastBeatMs >= this.beatMs) this.beat(false);
  }

  private beat(isBack: boolean): void {
    this.lastBeatMs = this.nowMs();
    if (!this.isUp) return;
    const { end, nodes, subjects } = this.all;
    const connections = end.localCounts();
    this.toldCounts = new Map(connections);
    const hears = nodes.all.map(({ name }) => name);
    this.link.publish(subjects.all, wire.beat({ node: end.id, connections, hears, isBack }));
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
