/** A random walk in a world with channel rules: histories, recoveries, states and graces beside everything else. */
import { anAppId } from "../../src/base/testing/ids.ts";
import { type Act, APP_CHOICES, CHANNEL_CHOICES, Choices } from "./acts.ts";
import type { Checks } from "./checks.ts";
import type { Context } from "./context.ts";
import { type Connection, deadlineOf } from "./model.ts";
import { nameOf } from "./rule-broken.ts";
import {
  RULES_KINDS,
  RULES_LAST_MS,
  RULES_PASS_MS,
  RULES_WAIT_MS,
  type RulesKind,
  WEATHER_MS,
  WEATHERS,
} from "./rules-acts.ts";
import { RulesRequests } from "./rules-requests.ts";
import { Walk } from "./walk.ts";
import type { WorldOptions } from "./world.ts";

export class RulesWalk extends Walk {
  constructor(options: WorldOptions) {
    super(options, (context: Context, checks: Checks) => new RulesRequests(context, checks));
  }

  protected override readonly maxMs = 90_000;

  override async do(act: Act): Promise<void> {
    const choices = new Choices(act);
    const kind = RULES_KINDS[(act[0] ?? 0) % RULES_KINDS.length] as RulesKind;
    await this.rulesAct(kind, choices);
    await this.checks.run();
  }

  private async rulesAct(kind: RulesKind, choices: Choices): Promise<void> {
    switch (kind) {
      case "settle":
        return this.checks.settle();
      case "pass":
        return this.passSlowly(choices.of(RULES_PASS_MS));
      case "wait":
        return this.passSlowly(choices.of(RULES_WAIT_MS));
      case "weather":
        return this.weather(choices);
      case "trim":
        return this.context.world.history?.trim();
      case "evict":
        return this.evict(choices);
      case "remove":
        return this.remove(choices);
      case "kill":
        return this.kill(choices);
      case "return":
        return this.return(choices);
      case "state":
      case "bye": {
        const connection = this.actor(choices.number());
        if (connection) this.say(connection, kind, choices);
        return;
      }
      default:
        this.act(kind, choices);
    }
  }

  private async passSlowly(ms: number): Promise<void> {
    if (!this.mayPass(ms)) return;
    // They are alive, however long the walk takes.
    for (const { socket } of this.context.open) socket.clientPing();
    await this.context.world.pass(ms);
  }

  private say(connection: Connection, kind: "state" | "bye", choices: Choices): void {
    if (kind === "state" && this.requests instanceof RulesRequests) {
      this.expire(connection);
      return this.requests.state(connection, choices);
    }
    // One that has expired is closed as such, with its next frame or by its timer.
    if (connection.mustClose || deadlineOf(connection) <= this.context.nowMs()) return;
    // Often with a last message, behind which its leave must come.
    const { histories } = this.context;
    const own = [...connection.subscriptions.keys()].filter((channel) => histories.has(channel));
    const last = own[choices.number() % Math.max(1, own.length)];
    if (last !== undefined && choices.number() % 3 > 0 && this.requests instanceof RulesRequests)
      this.requests.publishLast(connection, last, choices);
    this.context.note(`${nameOf(connection)} says goodbye`);
    connection.mustClose = 1000;
    connection.socket.close(1000, "");
  }

  private weather(choices: Choices): void {
    const weather = choices.of(WEATHERS);
    const ms = choices.of(WEATHER_MS);
    this.context.note(`the store is ${weather} for ${ms} ms`);
    this.context.count(`store ${weather}`);
    this.context.world.history?.turn(weather, ms);
  }

  /** Someone deletes a channel's history. */
  private remove(choices: Choices): void {
    const app = choices.of(APP_CHOICES);
    const channel = choices.of(CHANNEL_CHOICES);
    const node = this.context.world.pick(choices.number());
    const { history } = this.context.world;
    // A store in the node's own process does not do later what it has not answered.
    if (!this.context.histories.has(channel) || (!history?.isShared && !history?.isFine)) return;
    this.context.note(`the history of ${channel} in ${app} is removed`);
    this.context.histories.removedMs.set(`${app} ${channel}`, this.context.nowMs());
    this.context.world
      .nodeAt(node)
      .hub.streams.remove(anAppId(app), channel)
      .catch(() => this.context.count("not removed"));
  }

  /** A node needs the memory of its rings for other channels: recoveries have to ask the store. */
  private evict(choices: Choices): void {
    const node = this.context.world.pick(choices.number());
    this.context.note(`node ${node} empties its rings`);
    for (const stream of this.context.world.nodeAt(node).hub.streams.all) stream.ring.clear();
  }

  /** A node dies, often between a commit and its announcement, and another starts. */
  private async kill(choices: Choices): Promise<void> {
    const { world } = this.context;
    if (world.alive.length < 2) return;
    const node = world.pick(choices.number());
    await this.lastMessage(node, choices);
    this.die(node);
    // Nothing is published behind the last message that would show that it is there.
    if (choices.number() % 2 === 0) await this.checks.settle();
  }

  /** A connection of the node publishes in a channel that is in use on another one. */
  private async lastMessage(node: number, choices: Choices): Promise<void> {
    const { histories, open } = this.context;
    const senders = open.filter((one) => one.node === node && one.mustClose === undefined);
    const sender = senders[choices.number() % Math.max(1, senders.length)];
    if (!sender || !(this.requests instanceof RulesRequests)) return;
    const followed = open.flatMap((one) =>
      one.app === sender.app && one.node !== node
        ? [...one.subscriptions.keys()].filter((it) => histories.has(it))
        : [],
    );
    const channel = followed[choices.number() % Math.max(1, followed.length)];
    if (channel === undefined) return;
    this.expire(sender);
    this.requests.publishLast(sender, channel, choices);
    await this.checks.run();
    await this.passSlowly(choices.of(RULES_LAST_MS));
    await this.checks.run();
  }

  private die(node: number): void {
    const { world } = this.context;
    this.context.note(`node ${node} dies, node ${world.nodes.length} starts`);
    this.context.count("node died");
    const { messages, open } = this.context;
    for (const connection of open) {
      if (connection.node === node) connection.mustClose = 1006;
      // What was in transit from it is lost.
      for (const number of connection.due.keys())
        if (messages.get(number)?.connection.node === node) connection.due.delete(number);
    }
    world.kill(node);
    this.context.graces.died(node);
    world.start();
  }

  /** A peer that was here before comes back, and recovers what it has missed. */
  private async return(choices: Choices): Promise<void> {
    const { connections, histories } = this.context;
    const gone = connections.filter((one) => !one.isOpen && one.key.type === "secret").slice(-4);
    const before = gone[choices.number() % Math.max(1, gone.length)];
    const saved = before && histories.saved.findLast((one) => one.connection === before.id);
    if (!before || !saved || !(this.requests instanceof RulesRequests)) return;
    const connection = this.admission.reconnect(before, this.context.world.pick(choices.number()));
    if (!connection) return;
    // A slow reader: what is published meanwhile has to wait for it, behind the replay.
    if (choices.number() % 3 === 0) this.stall(connection);
    const start = { kind: "recover" as const, position: saved.position, connection: before.id };
    this.requests.recover(connection, saved.channel, start, choices.number() % 2 === 0);
  }
}
