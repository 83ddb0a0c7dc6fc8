/** For tests of the checker: reports events to it in short calls. */
import { Checker, type Judging } from "../checker.ts";
import type { Kind } from "../findings.ts";

/** A checker with its own clock. */
export class Scene {
  nowMs = 0;
  readonly checker = new Checker(() => this.nowMs);
  private readonly publishers = new Map<number, string>();

  open(peer: string): number {
    const id = this.checker.opened(peer);
    this.publishers.set(id, peer);
    return id;
  }

  /** Opens a connection and subscribes it, with this roster. */
  join(peer: string, roster: string[] = [], channel = "c"): number {
    const id = this.open(peer);
    this.checker.subscribing(id, channel);
    this.checker.subscribed(id, channel);
    this.roster(id, roster, channel);
    return id;
  }

  roster(id: number, joined: string[], channel = "c"): void {
    this.checker.presence(id, channel, { joined, left: [], snapshot: true });
  }

  change(id: number, joined: string[], left: string[] = []): void {
    this.checker.presence(id, "c", { joined, left, snapshot: false });
  }

  /** Publishes a message that is acked. */
  publish(id: number, channel = "c"): number {
    const number = this.checker.publishing(id, channel);
    this.checker.published(id, channel, number, "acked");
    return number;
  }

  receive(id: number, sender: number, ...numbers: number[]): void {
    for (const number of numbers)
      this.checker.message(id, "c", this.publishers.get(sender) ?? "", { connection: sender, number });
  }

  problems(judging?: Judging): Partial<Record<Kind, string>> {
    return Object.fromEntries(
      this.checker.verdict(judging).map(({ kind, count, examples }) => [kind, `${count}: ${examples.join("; ")}`]),
    );
  }
}

/** Ann and Bob in one channel; Ann has published three messages. */
export function pair(): { scene: Scene; ann: number; bob: number } {
  const scene = new Scene();
  const ann = scene.join("ann");
  const bob = scene.join("bob", ["ann"]);
  scene.change(ann, ["bob"]);
  for (let i = 0; i < 3; i++) scene.publish(ann);
  return { scene, ann, bob };
}
