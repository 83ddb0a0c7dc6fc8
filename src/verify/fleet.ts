/** Many clients that send messages to each other over all nodes, and report every event to a checker. */
import { signToken } from "../access/tokens/token.ts";
import { Checker, type Judging } from "./checker.ts";
import { Client } from "./client.ts";
import { Findings, type Problem } from "./findings.ts";
import { whyRefused } from "./refusal.ts";
import { Tally, type Totals } from "./tally.ts";

export interface FleetOptions {
  /** Addresses of the nodes, such as ws://127.0.0.1:8080. Clients are distributed over them. */
  readonly urls: readonly string[];
  /** `<sk_id>:<sk_secret>` of a key with all four actions on the channels. */
  readonly secretKey: string;
  readonly clients: number;
  readonly channels: number;
  /** Messages per second, of all clients together. */
  readonly rate: number;
  /** Channels are called `<prefix>/<random>/<number>`. */
  readonly prefix?: string;
  /** Whether clients reconnect after a close (the default). */
  readonly reconnect?: boolean;
  /** A client whose connection ended returns to the same address; by default it tries the next one. */
  readonly staysPut?: boolean;
  /** How long published messages are, about; as short as possible unless given. */
  readonly bytes?: number;
  /**
   * Connections per second that the clients themselves cut while they send, in turn (0). They reconnect, and recover. A member that
   * comes and goes more often than every few seconds is shown late.
   */
  readonly cuts?: number;
  /** Fail unless the channels have history. */
  readonly history?: boolean;
  /** Whether some of the messages are direct ones (the default). */
  readonly directs?: boolean;
}

export interface Report {
  readonly problems: readonly Problem[];
  readonly figures: Totals;
}

/** The service or the credential does not allow a run. */
export class FleetError extends Error {}

const TOKEN_SECONDS = 3600;
const OPENING_AT_ONCE = 20;
const OPEN_TIMEOUT_MS = 10_000;
/** How long the clients may wait in all for the connect rate, for example shortly after another run. */
const RATE_WAIT_MAX_MS = 60_000;
/** A run is given up if the connect rate asks for a longer wait. */
const RETRY_AFTER_MAX_SECONDS = 5;
/** Rounds in a row in which no client could connect, for no known reason. */
const FAILED_ROUNDS_MAX = 3;
const PACE_MS = 10;
/** A longer backlog is skipped: sending it in a burst would exceed the frame rate of connections. */
const BACKLOG_MAX_MS = 500;
/** One message in this number is a direct message. */
const DIRECT_EVERY = 10;
const CHECK_EVERY_MS = 200;
/** After all messages have arrived, duplicates may still be in flight. */
const QUIET_MS = 500;
const CLOSE_TIMEOUT_MS = 2000;

/** Failed before its first welcome; later a client reconnects by itself. */
const hasFailed = (client: Client): boolean => client.refusal !== undefined || (client.isGone && !client.wasWelcome);

export class Fleet {
  readonly checker = new Checker(() => performance.now());
  readonly clients: readonly Client[];
  private readonly tally = new Tally();
  private readonly channels: readonly string[];
  private readonly watch: Timer;
  private pace: Timer | undefined;
  private cutting: Timer | undefined;
  private published = 0;
  private cuts = 0;
  private wake: () => void = () => undefined;

  private constructor(private readonly options: FleetOptions) {
    const { clients, channels, prefix = "verify", reconnect = true } = options;
    const run = crypto.randomUUID().slice(0, 8);
    this.channels = Array.from({ length: channels }, (_, at) => `${prefix}/${run}/${at + 1}`);
    const context = {
      checker: this.checker,
      tally: this.tally,
      reconnect: reconnect ? ("once welcome" as const) : ("never" as const),
      padding: "x".repeat(options.bytes ?? 0),
      addressFor: (client: Client) => this.addressFor(client),
      changed: () => this.wake(),
    };
    this.clients = Array.from(
      { length: clients },
      (_, at) => new Client(at, `${run}-${at + 1}`, this.channelAt(at), context),
    );
    this.watch = setInterval(() => {
      for (const client of this.clients) client.tick();
    }, 1000);
  }

  /** Resolves when all clients are connected, subscribed and have their rosters. Throws a FleetError with the reason if they cannot. */
  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    const deadline = performance.now() + RATE_WAIT_MAX_MS;
    try {
      for (let at = 0; at < fleet.clients.length; at += OPENING_AT_ONCE)
        await fleet.openSome(fleet.clients.slice(at, at + OPENING_AT_ONCE), deadline);
      fleet.demandHistory();
      return fleet;
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  /** Sends messages until `hush` is called. */
  talk(): void {
    const msPerMessage = 1000 / this.options.rate;
    // `talkedMs` sums up all periods of sending, so earlier ones count as if they had been directly before.
    const beganMs = performance.now() - this.tally.talkedMs;
    let sentUntilMs = performance.now();
    this.pace = setInterval(() => {
      const nowMs = performance.now();
      sentUntilMs = Math.max(sentUntilMs, nowMs - BACKLOG_MAX_MS);
      for (; sentUntilMs + msPerMessage <= nowMs; sentUntilMs += msPerMessage) this.sendNext();
      this.tally.talkedMs = nowMs - beganMs;
    }, PACE_MS);
    const { cuts = 0 } = this.options;
    if (cuts > 0) this.cutting = setInterval(() => this.cutOne(), 1000 / cuts);
  }

  hush(): void {
    clearInterval(this.pace);
    clearInterval(this.cutting);
  }

  async talkFor(seconds: number): Promise<void> {
    this.talk();
    await Bun.sleep(seconds * 1000);
    this.hush();
  }

  /** Waits for messages in flight, at most `withinMs`, and judges. */
  async settle(withinMs: number, judging: Judging = {}): Promise<Report> {
    const deadline = performance.now() + withinMs;
    while (!this.isSettled(judging) && performance.now() < deadline) await Bun.sleep(CHECK_EVERY_MS);
    await Bun.sleep(QUIET_MS);
    return { problems: this.problems(judging), figures: this.figures };
  }

  /** So far. */
  get figures(): Totals {
    return this.tally.totals(this.checker);
  }

  async close(): Promise<void> {
    this.hush();
    clearInterval(this.watch);
    for (const client of this.clients) client.stop();
    if (!(await this.until(() => this.clients.every((client) => client.isGone), CLOSE_TIMEOUT_MS)))
      for (const client of this.clients) client.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private cutOne(): void {
    const client = this.clients[this.cuts++ % this.clients.length];
    if (client?.isListening) client.terminate();
  }

  private demandHistory(): void {
    const without = this.channels.find((channel) => !this.checker.hasHistory(channel));
    if (this.options.history && without !== undefined)
      throw new FleetError(`${without} has no history: a channel rule of the application must give it some`);
  }

  private isSettled(judging: Judging): boolean {
    return this.problems(judging).length === 0 && !this.clients.some(({ isRetrying }) => isRetrying);
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

  /** Clients take turns: each sends to its own channel, to the next one, in which it is no subscriber, or directly to the next client. */
  private sendNext(): void {
    const count = this.clients.length;
    const round = Math.floor(this.published / count);
    const client = this.clients[this.published % count];
    this.published++;
    if (!client?.isListening) return;
    const neighbour = this.clients[(client.index + 1) % count];
    const isDirect = this.options.directs !== false && (round + client.index) % DIRECT_EVERY === 0;
    if (neighbour && isDirect) client.sendTo(neighbour.peer);
    else client.publish(this.channelAt(client.index + (round % 2)));
  }

  /** Clients that the connect rate refuses retry after the wait it asks for, until the deadline. */
  private async openSome(clients: readonly Client[], deadline: number): Promise<void> {
    let left = clients;
    let failedRounds = 0;
    while (left.length > 0) {
      const before = left.length;
      for (const client of left) if (client.isGone) client.connect();
      await this.until(() => left.every((one) => one.isListening || hasFailed(one)), OPEN_TIMEOUT_MS);
      left = left.filter((one) => !one.isListening);
      failedRounds = left.length < before ? 0 : failedRounds + 1;
      const failed = left.find(hasFailed);
      if (failed) await this.waitForRate(failed, deadline, failedRounds);
      else if (left.length > 0)
        throw new FleetError(
          `not every client had its roster within ${OPEN_TIMEOUT_MS / 1000} s; does the key have the action presence?`,
        );
    }
  }

  /** Throws unless only the rate refused the client, and allows it before the deadline. */
  private async waitForRate(client: Client, deadline: number, failedRounds: number): Promise<void> {
    if (client.refusal !== undefined) throw new FleetError(client.refusal);
    const { sentence, retryAfterSeconds, hasPassed } = await whyRefused(this.addressFor(client, client.tries - 1));
    // The rate may have allowed the request for the reason instead of the client's connect: the client just retries.
    if (hasPassed && failedRounds < FAILED_ROUNDS_MAX) return;
    if (retryAfterSeconds === undefined || retryAfterSeconds > RETRY_AFTER_MAX_SECONDS) throw new FleetError(sentence);
    const pauseMs = retryAfterSeconds * 1000;
    if (performance.now() + pauseMs > deadline) throw new FleetError(sentence);
    await Bun.sleep(pauseMs);
  }

  private channelAt(at: number): string {
    return this.channels[at % this.channels.length] ?? "";
  }

  private addressFor({ index, peer, tries: made }: Client, tries = made): string {
    const { urls, secretKey, staysPut } = this.options;
    const url = urls[(staysPut ? index : index + tries) % urls.length] ?? "";
    const [keyId = "", secret = ""] = secretKey.split(":");
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: peer, iat: now, exp: now + TOKEN_SECONDS };
    return `${url.replace(/\/+$/, "")}/v1?token=${signToken(claims, keyId, { hmacKey: Buffer.from(secret) })}`;
  }

  /** Evaluated again after every change of a client. */
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
