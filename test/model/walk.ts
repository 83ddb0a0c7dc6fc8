/** One walk: acts are done to the nodes and to the model alike, and after each, what everybody was told is looked at. */
import { type Act, CHANNEL_CHOICES, Choices, FLAP_MS, FLAP_TIMES, FLAP_WORDS, PASS_MS, WAIT_MS } from "./acts.ts";
import { Door } from "./door.ts";
import { Broken, nameOf } from "./ears.ts";
import { Keys } from "./keys.ts";
import { Stage } from "./stage.ts";
import { Talk } from "./talk.ts";
import { deadlineOf, type Line } from "./truth.ts";
import { Watch } from "./watch.ts";
import type { WorldOptions } from "./world.ts";

/** Before the service's own rule about silence would end connections that the walk gives no pong. */
const WALK_MAX_MS = 40_000;
/** Before the service's own rule about readers that take no roster would end them. */
const STALL_MAX_MS = 15_000;

export class Walk {
  readonly stage: Stage;
  private readonly keys: Keys;
  private readonly door: Door;
  private readonly watch: Watch;
  private readonly talk: Talk;
  private last: Line | undefined;

  constructor(options: WorldOptions) {
    this.stage = new Stage(options);
    this.keys = new Keys(this.stage);
    this.door = new Door(this.stage, this.keys);
    this.watch = new Watch(this.stage);
    this.talk = new Talk(this.stage, this.watch);
  }

  async do(act: Act): Promise<void> {
    const choices = new Choices(act);
    const kind = choices.kind();
    if (kind === "settle") await this.watch.settle();
    else if (kind === "flap") await this.flap(choices);
    else this.act(kind, choices);
    await this.watch.look();
  }

  private act(kind: Exclude<ReturnType<Choices["kind"]>, "settle" | "flap">, choices: Choices): void {
    switch (kind) {
      case "connect":
        return this.door.connect(choices);
      case "edit":
      case "rotate":
      case "revoke":
        return this.keys.change(kind, choices);
      case "kick":
      case "block":
        return this.door.kick(choices, kind === "block");
      case "pass":
        return this.pass(choices.of(PASS_MS));
      case "wait":
        return this.pass(choices.of(WAIT_MS));
      default: {
        const line = this.actor(choices.number());
        if (line) this.actOf(line, kind, choices);
      }
    }
  }

  /** Often the one who acted last: many faults need one's two acts in a row. */
  private actor(number: number): Line | undefined {
    const { open } = this.stage;
    if (number % 3 === 0 && this.last?.isOpen) return this.last;
    this.last = open[Math.floor(number / 3) % Math.max(1, open.length)];
    return this.last;
  }

  private actOf(
    line: Line,
    kind: "subscribe" | "unsubscribe" | "publish" | "send" | "drop" | "pong" | "stall" | "drain",
    choices: Choices,
  ): void {
    if (kind === "pong") return this.pong(line);
    if (kind === "stall") return this.stall(line);
    if (kind === "drain") return this.watch.drain(line);
    if (kind === "drop") {
      this.stage.note(`drop ${nameOf(line)}`);
      line.mustClose = 1006;
      return line.socket.terminate();
    }
    this.expire(line);
    this.talk[kind](line, choices);
  }

  private expire(line: Line): void {
    if (deadlineOf(line) <= this.stage.nowMs()) line.mustClose = 4002;
  }

  private pong(line: Line): void {
    this.stage.note(`pong of ${nameOf(line)}`);
    line.ponged = Math.max(line.ponged, Number(line.socket.pings.at(-1) ?? 0));
    line.socket.pong();
  }

  private stall(line: Line): void {
    this.stage.note(`${nameOf(line)} stops reading`);
    line.stalledMs ??= this.stage.nowMs();
    line.socket.stalled = true;
  }

  /** One connection joins and leaves a channel, more often than the others are to be shown. */
  private async flap(choices: Choices): Promise<void> {
    const line = this.actor(choices.number());
    const channel = choices.of(CHANNEL_CHOICES);
    const times = choices.of(FLAP_TIMES);
    const ms = choices.of(FLAP_MS);
    const [inside, outside] = choices.of(FLAP_WORDS);
    for (let i = 0; line?.isOpen && !line.mustClose && i < times; i++) {
      this.expire(line);
      if (i % 2 === 0) this.talk.subscribeTo(line, channel, false);
      else this.talk.unsubscribeFrom(line, channel);
      await this.watch.look();
      if (!line.isOpen) return;
      if (i % 2 === 0) this.pong(line);
      this.expire(line);
      const say = i % 2 === 0 ? inside : outside;
      if (say) this.talk[say](line, choices);
      await this.watch.look();
      if (ms > 0) this.pass(ms);
      await this.watch.look();
    }
  }

  private pass(ms: number): void {
    if (this.stage.nowMs() - this.stage.startMs > WALK_MAX_MS) return;
    for (const line of this.stage.open)
      if (this.stage.nowMs() - (line.stalledMs ?? this.stage.nowMs()) > STALL_MAX_MS) this.watch.drain(line);
    this.stage.note(`${ms} ms pass`);
    this.stage.world.advance(ms);
  }

  /** Everybody goes: nothing stays. */
  async end(): Promise<void> {
    await this.watch.settle(true);
    for (const line of this.stage.open) {
      line.mustClose = 1006;
      line.socket.terminate();
    }
    await this.watch.settle();
    const left = this.stage.world.nodes.reduce(
      (sum, { hub, server }) => sum + hub.spaces.channelCount + server.sockets.size,
      0,
    );
    if (left > 0) throw new Broken(`${left} channels and sockets are left when nobody is`);
  }
}
