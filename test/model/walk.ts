/** One random walk: each act is applied to the nodes and to the model, and then all connections are checked. */
import { type Act, CHANNEL_CHOICES, Choices, FLAP_MESSAGES, FLAP_MS, FLAP_TIMES, PASS_MS, WAIT_MS } from "./acts.ts";
import { Admission } from "./admission.ts";
import { Checks } from "./checks.ts";
import { Context } from "./context.ts";
import { Keys } from "./keys.ts";
import { type Connection, deadlineOf } from "./model.ts";
import { Renewals } from "./renewals.ts";
import { Requests } from "./requests.ts";
import { nameOf, RuleBroken } from "./rule-broken.ts";
import type { WorldOptions } from "./world.ts";

/** Shorter than the time after which liveness would drop connections that send no pong. */
const WALK_MAX_MS = 40_000;
/** Shorter than the time after which connections that read no roster are cut. */
const STALL_MAX_MS = 15_000;

export type PlainKind = Exclude<ReturnType<Choices["kind"]>, "settle" | "flap">;

const plainRequests = (context: Context, checks: Checks): Requests => new Requests(context, checks);

export class Walk {
  readonly context: Context;
  private readonly keys: Keys;
  protected readonly admission: Admission;
  private readonly renewals: Renewals;
  protected readonly checks: Checks;
  protected readonly requests: Requests;
  protected readonly maxMs: number = WALK_MAX_MS;
  private last: Connection | undefined;

  constructor(options: WorldOptions, makeRequests = plainRequests) {
    this.context = new Context(options);
    this.keys = new Keys(this.context);
    this.admission = new Admission(this.context, this.keys);
    this.renewals = new Renewals(this.context, this.keys, this.admission);
    this.checks = new Checks(this.context);
    this.requests = makeRequests(this.context, this.checks);
  }

  async do(act: Act): Promise<void> {
    const choices = new Choices(act);
    const kind = choices.kind();
    if (kind === "settle") await this.checks.settle();
    else if (kind === "flap") await this.flap(choices);
    else this.act(kind, choices);
    await this.checks.run();
  }

  protected act(kind: PlainKind, choices: Choices): void {
    switch (kind) {
      case "connect":
        return this.admission.connect(choices);
      case "edit":
      case "rotate":
      case "revoke":
        return this.keys.change(kind, choices);
      case "kick":
      case "block":
        return this.admission.kick(choices, kind === "block");
      case "renew": {
        const connection = this.actor(choices.number());
        if (connection) this.renewals.renew(connection, choices, () => this.expire(connection));
        return;
      }
      case "pass":
        return this.pass(choices.of(PASS_MS));
      case "wait":
        return this.pass(choices.of(WAIT_MS));
      default: {
        const connection = this.actor(choices.number());
        if (connection) this.actOf(connection, kind, choices);
      }
    }
  }

  /** Often the connection that acted last: many bugs need two acts of one connection in a row. */
  protected actor(number: number): Connection | undefined {
    const { open } = this.context;
    if (number % 3 === 0 && this.last?.isOpen) return this.last;
    this.last = open[Math.floor(number / 3) % Math.max(1, open.length)];
    return this.last;
  }

  protected actOf(
    connection: Connection,
    kind: "subscribe" | "unsubscribe" | "publish" | "send" | "drop" | "pong" | "stall" | "drain",
    choices: Choices,
  ): void {
    if (kind === "pong") return this.pong(connection);
    if (kind === "stall") return this.stall(connection);
    if (kind === "drain") return this.checks.drain(connection);
    if (kind === "drop") {
      this.context.note(`drop ${nameOf(connection)}`);
      connection.mustClose = 1006;
      return connection.socket.terminate();
    }
    this.expire(connection);
    this.requests[kind](connection, choices);
  }

  protected expire(connection: Connection): void {
    if (deadlineOf(connection) <= this.context.nowMs()) connection.mustClose = 4002;
  }

  private pong(connection: Connection): void {
    this.context.note(`pong of ${nameOf(connection)}`);
    connection.ponged = Math.max(connection.ponged, Number(connection.socket.pings.at(-1) ?? 0));
    connection.socket.pong();
  }

  protected stall(connection: Connection): void {
    this.context.note(`${nameOf(connection)} stops reading`);
    connection.stalledMs ??= this.context.nowMs();
    connection.socket.stalled = true;
  }

  /** One connection joins and leaves a channel, more often than damping lets the others see. */
  private async flap(choices: Choices): Promise<void> {
    const connection = this.actor(choices.number());
    const channel = choices.of(CHANNEL_CHOICES);
    const times = choices.of(FLAP_TIMES);
    const ms = choices.of(FLAP_MS);
    const [inside, outside] = choices.of(FLAP_MESSAGES);
    for (let i = 0; connection?.isOpen && !connection.mustClose && i < times; i++) {
      this.expire(connection);
      if (i % 2 === 0) this.requests.subscribeTo(connection, channel, false);
      else this.requests.unsubscribeFrom(connection, channel);
      await this.checks.run();
      if (!connection.isOpen) return;
      if (i % 2 === 0) this.pong(connection);
      this.expire(connection);
      const send = i % 2 === 0 ? inside : outside;
      if (send) this.requests[send](connection, choices);
      await this.checks.run();
      if (ms > 0) this.pass(ms);
      await this.checks.run();
    }
  }

  private pass(ms: number): void {
    if (this.mayPass(ms)) this.context.world.advance(ms);
  }

  protected mayPass(ms: number): boolean {
    if (this.context.nowMs() - this.context.startMs > this.maxMs) return false;
    for (const connection of this.context.open)
      if (this.context.nowMs() - (connection.stalledMs ?? this.context.nowMs()) > STALL_MAX_MS)
        this.checks.drain(connection);
    this.context.note(`${ms} ms pass`);
    return true;
  }

  /** All disconnect: nothing may be left in memory. */
  async end(): Promise<void> {
    await this.checks.settle(true);
    for (const connection of this.context.open) {
      connection.mustClose = 1006;
      connection.socket.terminate();
    }
    await this.checks.settle();
    await this.checks.untilGone();
    const { world } = this.context;
    const left = world.alive
      .map((i) => world.nodeAt(i))
      .reduce((sum, { hub, server }) => sum + hub.spaces.channelCount + server.sockets.size, 0);
    if (left > 0) throw new RuleBroken(`${left} channels and sockets are left after all have disconnected`);
  }
}
