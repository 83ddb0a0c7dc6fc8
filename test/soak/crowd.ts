/** The clients of a soak: their channels, their nodes, and what they send. One process, one checker for all of them. */
import { Checker } from "../../src/verify/checker.ts";
import { Client, type ClientContext } from "../../src/verify/client.ts";
import { Findings, type Problem } from "../../src/verify/findings.ts";
import { whyRefused } from "../../src/verify/refusal.ts";
import { Tally, type Totals } from "../../src/verify/tally.ts";
import { until } from "../support/wait.ts";
import { KEYS, type SoakKeys } from "./keys.ts";
import type { SoakNodes } from "./nodes.ts";

export interface CrowdOptions {
  readonly connections: number;
  /** Messages per second, over all clients. */
  readonly rate: number;
  readonly channelSize: number;
}

/** A place in the crowd: its client may be replaced by another of the same name. */
export interface Seat {
  readonly index: number;
  readonly peer: string;
  readonly channel: string;
  readonly key: number;
  /** Its channel can be removed from its key. */
  readonly isNarrow: boolean;
  node: number | undefined;
  client: Client;
  /** It is blocked: a connection that ended with its node, before it could be kicked, may not return. */
  isBlocked?: boolean;
}

const OPENING_AT_ONCE = 50;
/** Judging thousands of clients takes time. */
const JUDGE_EVERY_MS = 250;
/** After all messages have arrived, duplicates may still be in flight. */
const QUIET_MS = 500;
const CLOSING_MS = 100;
const PACE_MS = 10;
/** A backlog above this is dropped: a burst would exceed the rate limit of connections. */
const LARGEST_DEBT_MS = 500;
const DIRECT_EVERY = 10;
const NEIGHBOUR_EVERY = 8;
/** One in this many channels can be removed from its key. */
const NARROW_EVERY = 50;
/** One in this many seats is in one large channel, whose presence all of them follow. */
const PLAZA_EVERY = 25;
const PLAZA = "soak/wide/plaza";
/** One in this many messages of its members goes to the large channel: each is delivered to hundreds. */
const PLAZA_SPEAKS_EVERY = 4;
/** When only one node at a time restarts, a client has reconnected by then, even on a busy machine. */
const ABSENT_MAX_MS = 60_000;
const FORGET_AFTER_MS = 60_000;
const REFUSALS_ASKED_MAX = 50;
/** Refusals that are possible while a node starts, ends, or is busy. Any other is a violation. */
const PASSING_REFUSAL = /cannot be reached|before it was of use|internal_error|rate_limited/;

export class Crowd {
  readonly checker = new Checker(() => performance.now());
  readonly seats: readonly Seat[];
  readonly tally = new Tally();
  /** Violations besides those that the checker finds. */
  readonly violations = new Findings();
  connects = 0;
  private readonly perNode: number[] = [];
  private readonly absentSinceMs = new Map<Seat, number>();
  private readonly watch: Timer;
  private pace: Timer | undefined;
  private turn = 0;
  private refusalsAsked = 0;

  constructor(
    private readonly nodes: SoakNodes,
    private readonly keys: SoakKeys,
    private readonly options: CrowdOptions,
  ) {
    const channels = Math.max(1, Math.ceil(options.connections / options.channelSize));
    this.seats = Array.from({ length: options.connections }, (_, index) => {
      const at = index % channels;
      if (index % PLAZA_EVERY === 1)
        return this.seated({ index, peer: `soak-${index}`, channel: PLAZA, key: index % KEYS, isNarrow: false });
      // All members of a narrow channel have the same key, so that they lose it together; in other channels keys are mixed.
      const isNarrow = at % NARROW_EVERY === 0;
      const channel = `soak/${isNarrow ? "narrow" : "wide"}/${at}`;
      const key = isNarrow ? Math.floor(at / NARROW_EVERY) % KEYS : (index + Math.floor(index / channels)) % KEYS;
      return this.seated({ index, peer: `soak-${index}`, channel, key, isNarrow });
    });
    this.watch = setInterval(() => this.lookAround(), 1000);
  }

  get open(): number {
    return this.seats.reduce((count, { client }) => count + Number(client.isConnected), 0);
  }

  get listening(): number {
    return this.seats.reduce((count, { client }) => count + Number(client.isListening), 0);
  }

  get figures(): Totals {
    return this.tally.totals(this.checker);
  }

  async connectAll(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    for (let at = 0; at < this.seats.length; at += OPENING_AT_ONCE) {
      const some = this.seats.slice(at, at + OPENING_AT_ONCE);
      for (const { client } of some) client.connect();
      const areListening = (): boolean => some.every(({ client }) => client.isListening);
      await until("all clients are connected", areListening, deadline - performance.now());
    }
  }

  /** A new client of the same name: the previous one was kicked, or left. */
  replace(seat: Seat): void {
    seat.client.stop();
    seat.client = this.clientFor(seat);
    seat.client.connect();
  }

  randomSeat(): Seat {
    return this.seats[Math.floor(Math.random() * this.seats.length)] as Seat;
  }

  talk(): void {
    const msPerMessage = 1000 / this.options.rate;
    let paidMs = performance.now();
    const beganMs = paidMs;
    this.pace = setInterval(() => {
      const nowMs = performance.now();
      paidMs = Math.max(paidMs, nowMs - LARGEST_DEBT_MS);
      for (; paidMs + msPerMessage <= nowMs; paidMs += msPerMessage) this.sayOne();
      this.tally.talkedMs = nowMs - beganMs;
    }, PACE_MS);
  }

  hush(): void {
    clearInterval(this.pace);
  }

  /** To be called regularly: without it the checker keeps every connection that ever existed. */
  forget(): void {
    this.checker.prune(FORGET_AFTER_MS);
  }

  /** Without load: waits for messages on their way, up to the timeout. */
  async settle(withinMs: number): Promise<readonly Problem[]> {
    const deadline = performance.now() + withinMs;
    while (this.problems().length > 0 && performance.now() < deadline) await Bun.sleep(JUDGE_EVERY_MS);
    await Bun.sleep(QUIET_MS);
    return this.problems();
  }

  async close(): Promise<void> {
    this.hush();
    clearInterval(this.watch);
    for (const { client } of this.seats) client.stop();
    await Bun.sleep(CLOSING_MS);
    for (const { client } of this.seats) client.terminate();
  }

  private problems(): readonly Problem[] {
    const findings = new Findings();
    for (const { client, peer } of this.seats)
      if (!client.isListening)
        findings.add("absent", `${peer} is not connected: ${client.refusal ?? `it tried ${client.tries} times`}`);
    return [...this.checker.verdict(), ...this.violations.problems, ...findings.problems];
  }

  /** A message to its own channel, to another one that it does not subscribe to, or directly to a neighbour. */
  private sayOne(): void {
    const count = this.seats.length;
    for (let tries = 0; tries < count; tries++) {
      const seat = this.seats[this.turn++ % count];
      if (!seat?.client.isListening) continue;
      const round = Math.floor(this.turn / count) + seat.index;
      const neighbour = this.seats[(seat.index + 1) % count];
      if (neighbour && round % DIRECT_EVERY === 0) return seat.client.sendTo(neighbour.peer);
      const isQuiet = seat.channel === PLAZA && round % PLAZA_SPEAKS_EVERY !== 0;
      if (neighbour && (isQuiet || round % NEIGHBOUR_EVERY === 1) && !neighbour.isNarrow && neighbour.channel !== PLAZA)
        return seat.client.publish(neighbour.channel);
      return seat.client.publish(seat.channel);
    }
  }

  private seated(seat: Omit<Seat, "client" | "node">): Seat {
    return { ...seat, node: undefined, client: this.clientFor(seat) };
  }

  private clientFor({ index, peer, channel }: Pick<Seat, "index" | "peer" | "channel">): Client {
    const around: ClientContext = {
      checker: this.checker,
      tally: this.tally,
      reconnect: "always",
      addressFor: () => this.addressFor(index),
      changed: () => undefined,
      unwelcome: (client) => this.unwelcome(index, client),
    };
    return new Client(index, peer, channel, around);
  }

  /** The running node with the fewest of our clients, as a load balancer would choose. */
  private addressFor(index: number): string {
    const seat = this.seats[index];
    if (!seat) return "";
    this.connects++;
    if (seat.node !== undefined) this.perNode[seat.node] = (this.perNode[seat.node] ?? 1) - 1;
    const [first = 0, ...others] = this.nodes.upNodes;
    let best = first;
    for (const at of others) if ((this.perNode[at] ?? 0) < (this.perNode[best] ?? 0)) best = at;
    seat.node = best;
    this.perNode[best] = (this.perNode[best] ?? 0) + 1;
    return `${this.nodes.url(best).replace(/^http/, "ws")}/v1?token=${this.keys.token(seat.key, seat.peer, index)}`;
  }

  /** A WebSocket does not show why it was refused; a plain GET on the same address does. */
  private unwelcome(index: number, client: Client): void {
    const seat = this.seats[index];
    if (!seat || seat.client !== client || this.refusalsAsked >= REFUSALS_ASKED_MAX) return;
    if (seat.isBlocked || this.keys.isUnsettled(seat.key)) return;
    this.refusalsAsked++;
    const url = this.nodes.url(seat.node ?? 0).replace(/^http/, "ws");
    void whyRefused(`${url}/v1?token=${this.keys.token(seat.key, seat.peer, index)}`).then(({ sentence }) => {
      if (!PASSING_REFUSAL.test(sentence)) this.violations.add("absent", `${seat.peer}: ${sentence}`);
    });
  }

  /** Once a second: checks for silence, and for clients that are disconnected too long. */
  private lookAround(): void {
    const nowMs = performance.now();
    this.refusalsAsked = Math.max(0, this.refusalsAsked - 5);
    for (const seat of this.seats) {
      seat.client.tick();
      if (seat.client.isListening) {
        this.absentSinceMs.delete(seat);
        continue;
      }
      const since = this.absentSinceMs.get(seat) ?? nowMs;
      this.absentSinceMs.set(seat, since);
      if (nowMs - since < ABSENT_MAX_MS) continue;
      this.absentSinceMs.set(seat, nowMs);
      this.violations.add(
        "absent",
        `${seat.peer} was away for ${ABSENT_MAX_MS / 1000} s: ${seat.client.refusal ?? ""}`,
      );
      this.replace(seat);
    }
  }
}
