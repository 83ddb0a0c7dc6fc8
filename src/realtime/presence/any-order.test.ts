/** Three nodes, a few peers, random actions in random order: what each client was shown is compared with a model. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Clock } from "../../base/clock.ts";
import type { Engine } from "../../engine/engine.ts";
import { delayed, shuffled } from "../../engine/testing/traffic.ts";
import { runs } from "../../testing/runs.ts";
import { leftovers, World } from "../testing/kit.ts";
import { slowly } from "../testing/late-engine.ts";
import { Observer, type Roster, type TestMessage } from "../testing/observer.ts";
import { CHANGES_SHOWN_WINDOW_MS } from "./limits.ts";

/** A connection as the model knows it. */
interface Connection {
  readonly peerId: string;
  readonly node: number;
  readonly metadata: number | undefined;
  readonly observer: Observer;
  readonly channels: Set<string>;
  isOpen: boolean;
}

type Act =
  | {
      readonly kind: "connect";
      readonly peer: string;
      readonly node: number;
      readonly metadata: number | undefined;
      readonly pongAfterMs: number | undefined;
    }
  | { readonly kind: "subscribe" | "unsubscribe" | "publish"; readonly actor: number; readonly channel: string }
  | { readonly kind: "vanish"; readonly actor: number }
  | { readonly kind: "kill"; readonly node: number }
  | { readonly kind: "pass"; readonly ms: number };

const NODES = 3;
const actor = fc.nat(5);
const channel = fc.constantFrom("c", "d");
const node = fc.nat(NODES - 1);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("connect" as const),
      peer: fc.constantFrom("ann", "ben", "cat"),
      node,
      metadata: fc.constantFrom(undefined, 1, 2),
      pongAfterMs: fc.constantFrom(0, 1, 7, 30, undefined),
    }),
  },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("subscribe" as const), actor, channel }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("unsubscribe" as const), actor, channel }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("publish" as const), actor, channel }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("vanish" as const), actor }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("kill" as const), node }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1, 2, 5, 11, 25) }) },
);
const acts = fc.array(act, { minLength: 10, maxLength: 60, size: "max" });
const traffic = fc.oneof(
  fc.nat(12).map((steps) => ({ name: `late by ${steps}`, make: () => delayed(steps) })),
  fc.integer().map((seed) => ({ name: `at random ${seed}`, make: () => shuffled(seed) })),
);

class Model {
  private readonly connections: Connection[] = [];
  private readonly dead = new Set<number>();

  constructor(private readonly world: World) {}

  do(act: Act): void {
    if (act.kind === "pass") return this.world.advance(act.ms);
    if (act.kind === "kill") return this.kill(act.node);
    if (act.kind === "connect") return this.connect(act);
    const open = this.connections.filter((one) => one.isOpen);
    const one = open[act.actor % Math.max(1, open.length)];
    if (!one) return;
    if (act.kind === "vanish") {
      one.isOpen = false;
      one.observer.client.vanish();
    } else if (act.kind === "publish") {
      one.observer.read();
      const message: TestMessage = { isMember: one.observer.holds(act.channel) };
      one.observer.client.publish(act.channel, message);
    } else {
      one.observer[act.kind](act.channel);
      one.channels[act.kind === "subscribe" ? "add" : "delete"](act.channel);
    }
  }

  private connect({ peer: peerId, node, metadata, pongAfterMs }: Act & { kind: "connect" }): void {
    if (this.dead.has(node)) return;
    // Two connections are never made in the same millisecond here; another test covers that.
    this.world.advance(1);
    const client = this.world.connect(peerId, { node, metadata, pongAfterMs });
    const observer = new Observer(client, peerId);
    this.connections.push({ peerId, node, metadata, observer, channels: new Set(), isOpen: true });
  }

  private kill(node: number): void {
    if (this.dead.size > 0) return;
    this.dead.add(node);
    for (const one of this.connections) if (one.node === node) one.isOpen = false;
    this.world.kill(node);
  }

  /** The members of a channel, with the metadata of their newest connection there. */
  private members(channel: string): Roster {
    const inChannel = this.connections.filter((one) => one.isOpen && one.channels.has(channel));
    return new Map(inChannel.map((one) => [one.peerId, one.metadata === undefined ? undefined : `${one.metadata}`]));
  }

  check(): void {
    this.world.settle();
    // Changes that damping holds back are shown by then.
    this.world.clock.advance(CHANGES_SHOWN_WINDOW_MS);
    this.world.settle();
    for (const { observer } of this.connections) observer.read();
    expect(this.connections.flatMap(({ observer }) => observer.broken)).toEqual([]);
    for (const { observer, peerId, channels, isOpen } of this.connections) {
      for (const channel of isOpen ? channels : []) {
        const others = this.members(channel);
        others.delete(peerId);
        expect(sorted(observer.others(channel))).toEqual(sorted(others));
      }
    }
  }

  end(): void {
    for (const one of this.connections) if (one.isOpen) one.observer.client.vanish();
    this.world.settle();
    expect(leftovers(this.world)).toEqual({});
  }
}

const sorted = (roster: Roster | undefined): unknown => roster && [...roster].sort(([a], [b]) => (a < b ? -1 : 1));

test("whatever clients do on three nodes, each ends up knowing all members, and no frame contradicts those before it", () => {
  fc.assert(
    fc.property(acts, traffic, fc.constantFrom(0, 0, 3, 40), (acts, { make }, answerMs) => {
      const engine = (engine: Engine, clock: Clock): Engine =>
        answerMs > 0 ? slowly(engine, clock, answerMs) : engine;
      const model = new Model(new World({ nodes: NODES, traffic: make(), engine }));
      for (const one of acts) model.do(one);
      model.check();
      model.end();
    }),
    { numRuns: runs(300), seed: 20_262, includeErrorInReport: true },
  );
});
