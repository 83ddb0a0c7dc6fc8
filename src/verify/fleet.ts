/** Many clients that talk to each other over all nodes, and a checker that is told of everything. */
import { signToken } from "../access/token.ts";
import { Checker, type Judging } from "./checker.ts";
import { Client } from "./client.ts";
import { Findings, type Problem } from "./findings.ts";
import { whyRefused } from "./refusal.ts";
import { type Figures, Tally } from "./tally.ts";

export interface FleetOptions {
  /** Of the nodes, such as ws://127.0.0.1:8080; clients take turns. */
  readonly urls: readonly string[];
  /** `<sk_id>:<sk_secret>` of a key with all four actions on the channels. */
  readonly secretKey: string;
  readonly clients: number;
  readonly channels: number;
  /** Messages a second, of all clients together. */
  readonly rate: number;
  /** Channels are called `<prefix>/<random>/<number>`. */
  readonly prefix?: string;
  /** Come back after a close; the default. */
  readonly reconnect?: boolean;
}

export interface Report {
  readonly problems: readonly Problem[];
  readonly figures: Figures;
}

/** The service, or the credential, does not allow a run at all. */
export class FleetError extends Error {}

const TOKEN_SECONDS = 3600;
const OPENING_AT_ONCE = 20;
const OPENED_WITHIN_MS = 10_000;
/** How long all of them may wait for the rate of connects, such as right behind another run. */
const RATE_WAIT_MAX_MS = 60_000;
/** A service that gives a connect more seldom than this takes no fleet. */
const RETRY_AFTER_MAX_SECONDS = 5;
/** Rounds of tries in a row that let nobody in, for no reason that can be found. */
const IN_VAIN_MAX = 3;
const PACE_MS = 10;
/** A debt of more than this is not paid: a burst would run into the rate limit of connections. */
const LARGEST_DEBT_MS = 500;
/** One in so many messages is a direct one. */
const DIRECT_EVERY = 10;
const LOOK_EVERY_MS = 200;
/** When all has come, doubles may still be on the way. */
const QUIET_MS = 500;
const CLOSED_WITHIN_MS = 2000;

/** Before it was ever let in: after that it comes back by itself. */
const hasFailed = (client: Client): boolean => client.refusal !== undefined || (client.isGone && !client.wasWelcome);

export class Fleet {
  readonly checker = new Checker(() => performance.now());
  readonly clients: readonly Client[];
  private readonly tally = new Tally();
  private readonly channels: readonly string[];
  private readonly watch: Timer;
  private pace: Timer | undefined;
  private turn = 0;
  private wake: () => void = () => undefined;

  private constructor(private readonly options: FleetOptions) {
    const { clients, channels, prefix = "verify", reconnect = true } = options;
    const run = crypto.randomUUID().slice(0, 8);
    this.channels = Array.from({ length: channels }, (_, at) => `${prefix}/${run}/${at + 1}`);
    const around = {
      checker: this.checker,
      tally: this.tally,
      reconnect: reconnect ? ("once welcome" as const) : ("never" as const),
      addressFor: (client: Client) => this.addressFor(client),
      changed: () => this.wake(),
    };
    this.clients = Array.from(
      { length: clients },
      (_, at) => new Client(at, `${run}-${at + 1}`, this.channelAt(at), around),
    );
    this.watch = setInterval(() => {
      for (const client of this.clients) client.tick();
    }, 1000);
  }

  /** All clients are connected, subscribed and have their rosters. Throws a FleetError that says why not. */
  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    const deadline = performance.now() + RATE_WAIT_MAX_MS;
    try {
      for (let at = 0; at < fleet.clients.length; at += OPENING_AT_ONCE)
        await fleet.openSome(fleet.clients.slice(at, at + OPENING_AT_ONCE), deadline);
      return fleet;
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  /** Begins to talk, and goes on until `hush`. */
  talk(): void {
    const msPerMessage = 1000 / this.options.rate;
    // Of all the times they talked.
    const beganMs = performance.now() - this.tally.talkedMs;
    let paidMs = performance.now();
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

  async talkFor(seconds: number): Promise<void> {
    this.talk();
    await Bun.sleep(seconds * 1000);
    this.hush();
  }

  /** Waits for what is on the way, at most so long, and judges. */
  async settle(withinMs: number, judging: Judging = {}): Promise<Report> {
    const deadline = performance.now() + withinMs;
    while (this.problems(judging).length > 0 && performance.now() < deadline) await Bun.sleep(LOOK_EVERY_MS);
    await Bun.sleep(QUIET_MS);
    return { problems: this.problems(judging), figures: this.tally.figures(this.checker.deliveries) };
  }

  async close(): Promise<void> {
    this.hush();
    clearInterval(this.watch);
    for (const client of this.clients) client.stop();
    if (!(await this.until(() => this.clients.every((client) => client.isGone), CLOSED_WITHIN_MS)))
      for (const client of this.clients) client.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private problems(judging: Judging): readonly Problem[] {
    const findings = new Findings();
    for (const client of this.clients)
      if (!client.isListening)
        findings.add(
          "absent",
          `${client.peer} is not connected: ${client.refusal ?? `it tried ${client.tries} times`}`,
        );
    if (this.checker.deliveries === 0)
      findings.add("idle", `of ${this.tally.sent} messages ${this.tally.acked} were acked`);
    return [...this.checker.verdict(judging), ...findings.problems];
  }

  /** Everybody in turn: to its own channel, to the one beside it, where it does not listen, or to its neighbour alone. */
  private sayOne(): void {
    const count = this.clients.length;
    const round = Math.floor(this.turn / count);
    const client = this.clients[this.turn % count];
    this.turn++;
    if (!client?.isListening) return;
    const neighbour = this.clients[(client.index + 1) % count];
    if (neighbour && (round + client.index) % DIRECT_EVERY === 0) client.sendTo(neighbour.peer);
    else client.publish(this.channelAt(client.index + (round % 2)));
  }

  /** Those that the rate of connects keeps out try again when it has room, until the deadline. */
  private async openSome(clients: readonly Client[], deadline: number): Promise<void> {
    let left = clients;
    let inVain = 0;
    while (left.length > 0) {
      const before = left.length;
      for (const client of left) if (client.isGone) client.connect();
      await this.until(() => left.every((one) => one.isListening || hasFailed(one)), OPENED_WITHIN_MS);
      left = left.filter((one) => !one.isListening);
      inVain = left.length < before ? 0 : inVain + 1;
      const unlucky = left.find(hasFailed);
      if (unlucky) await this.waitForRoom(unlucky, deadline, inVain);
      else if (left.length > 0)
        throw new FleetError(
          `not every client had its roster within ${OPENED_WITHIN_MS / 1000} s; does the key have the action presence?`,
        );
    }
  }

  /** Throws unless the client was refused for the rate alone, and will be let in before the deadline. */
  private async waitForRoom(client: Client, deadline: number, inVain: number): Promise<void> {
    if (client.refusal !== undefined) throw new FleetError(client.refusal);
    const { sentence, retryAfterSeconds, isOver } = await whyRefused(this.addressFor(client, client.tries - 1));
    // The question itself may have got the room that the client had not.
    if (isOver && inVain < IN_VAIN_MAX) return;
    if (retryAfterSeconds === undefined || retryAfterSeconds > RETRY_AFTER_MAX_SECONDS) throw new FleetError(sentence);
    const pauseMs = retryAfterSeconds * 1000;
    if (performance.now() + pauseMs > deadline) throw new FleetError(sentence);
    await Bun.sleep(pauseMs);
  }

  private channelAt(at: number): string {
    return this.channels[at % this.channels.length] ?? "";
  }

  /** Whoever lost its connection tries the next node. */
  private addressFor({ index, peer, tries: made }: Client, tries = made): string {
    const { urls, secretKey } = this.options;
    const url = urls[(index + tries) % urls.length] ?? "";
    const [keyId = "", secret = ""] = secretKey.split(":");
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: peer, iat: now, exp: now + TOKEN_SECONDS };
    return `${url.replace(/\/+$/, "")}/v1?token=${signToken(claims, keyId, { hmacKey: Buffer.from(secret) })}`;
  }

  /** Looked at whenever something happens to a client. */
  private async until(holds: () => boolean, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    while (!holds()) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, leftMs);
      this.wake = resolve;
      await promise;
      clearTimeout(timer);
    }
    return true;
  }
}
