/** One walk: acts are done to the nodes and to the model alike, and after each, what everybody was told is looked at. */
import { type Act, Choices, PASS_MS, WAIT_MS } from "./acts.ts";
import { Door } from "./door.ts";
import { Broken, nameOf } from "./ears.ts";
import { Keys } from "./keys.ts";
import { Stage } from "./stage.ts";
import { Talk } from "./talk.ts";
import { deadlineOf, type Line } from "./truth.ts";
import { Watch } from "./watch.ts";
import type { WorldOptions } from "./world.ts";

/** Before the service's own rule about silence would end connections that the walk gives no pong. */
const WALK_MAX_MS = 50_000;

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
    else this.act(kind, choices);
    await this.watch.look();
  }

  private act(kind: Exclude<ReturnType<Choices["kind"]>, "settle">, choices: Choices): void {
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
    kind: "subscribe" | "unsubscribe" | "publish" | "send" | "drop" | "pong",
    choices: Choices,
  ): void {
    if (kind === "pong") {
      this.stage.note(`pong of ${nameOf(line)}`);
      line.ponged = Math.max(line.ponged, Number(line.socket.pings.at(-1) ?? 0));
      return line.socket.pong();
    }
    if (kind === "drop") {
      this.stage.note(`drop ${nameOf(line)}`);
      line.mustClose = 1006;
      return line.socket.terminate();
    }
    if (deadlineOf(line) <= this.stage.nowMs()) line.mustClose = 4002;
    this.talk[kind](line, choices);
  }

  private pass(ms: number): void {
    if (this.stage.nowMs() - this.stage.startMs > WALK_MAX_MS) return;
    this.stage.note(`${ms} ms pass`);
    this.stage.world.advance(ms);
  }

  /** Everybody goes: nothing stays. */
  async end(): Promise<void> {
    await this.watch.settle();
    for (const line of this.stage.open) {
      line.mustClose = 1006;
      line.socket.terminate();
    }
    await this.watch.settle();
    const left = this.stage.world.nodes.reduce(
      (sum, { hub, server }) => sum + hub.channelCount + server.sockets.size,
      0,
    );
    if (left > 0) throw new Broken(`${left} channels and sockets are left when nobody is`);
  }
}
