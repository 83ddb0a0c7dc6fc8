/** For tests: the tails of several nodes, whose requests and notifications are passed on at once, or lost. */
import type { AppId, SpaceId } from "../../base/ids.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { NodeName } from "../../engine/engine.ts";
import { NodeRequests } from "../../engine/node-requests.ts";
import { Tail } from "../../telemetry/tail/tail.ts";
import type { TailQuery } from "../operators/tail-filter.ts";
import { type OpenTail, TailNodes } from "../operators/tail-nodes.ts";
import { TailSource } from "../operators/tail-source.ts";
import type { Connection } from "../state/connection.ts";

export interface TestReader {
  readonly open: OpenTail;
  /** All events so far, parsed. */
  readonly events: Record<string, unknown>[];
  dropped: number;
  isEnded: boolean;
}

export class TailTestNode {
  readonly requests: NodeRequests;
  readonly tail: Tail;
  readonly tails: TailNodes;
  readonly source: TailSource;
  /** The listener that realtime would have. */
  listener: TailSource | undefined;
  /** It neither receives nor sends. */
  isCut = false;

  constructor(
    readonly id: NodeName,
    private readonly cluster: TailCluster,
  ) {
    const { clock } = cluster;
    const mayShowPayloads = (app: AppId): boolean => app === "open";
    this.requests = new NodeRequests(cluster.engineOf(this), id);
    this.tail = new Tail({ after: this.after, mayShowPayloads });
    this.source = new TailSource(this.tail, id, clock.wallMs);
    this.tail.onSwitch((isOn) => {
      this.listener = isOn ? this.source : undefined;
    });
    const own = { monotonicMs: clock.monotonicMs, after: this.after };
    this.tails = new TailNodes({ tail: this.tail, requests: this.requests, clock: own, mayShowPayloads });
  }

  /** A node that is cut has also stopped: its timers do nothing. */
  private readonly after = (ms: number, callback: () => void): void =>
    this.cluster.clock.after(ms, () => {
      if (!this.isCut) callback();
    });

  open(query: Partial<TailQuery> = {}, operator = "admin"): TestReader {
    const reader = { events: [] as Record<string, unknown>[], dropped: 0, isEnded: false };
    const sink = {
      isReady: true,
      write: (lines: readonly string[], dropped: number): void => {
        reader.events.push(...lines.map((line) => JSON.parse(line)));
        reader.dropped += dropped;
      },
    };
    const open = this.tails.open(operator, { payloads: false, ...query }, sink, () => {
      reader.isEnded = true;
    });
    return Object.assign(reader, { open });
  }

  publish(spaceId: SpaceId, channel: string, from = "ann", data = "1"): void {
    this.listener?.published(spaceId, channel, from, data, undefined);
  }
}

export class TailCluster {
  readonly clock = new FakeClock();
  readonly nodes: TailTestNode[];
  /** Every notification that was sent, as text. */
  readonly sent: string[] = [];
  /** Notifications are lost. */
  isLossy = false;

  constructor(...ids: NodeName[]) {
    this.nodes = ids.map((id) => new TailTestNode(id, this));
  }

  engineOf(self: TailTestNode): ConstructorParameters<typeof NodeRequests>[0] {
    const reachable = (): TailTestNode[] => this.nodes.filter((node) => node !== self && !node.isCut && !self.isCut);
    return {
      request: async (text) => {
        const answers = await Promise.all(
          reachable().map(async (node) => [node.id, await node.requests.respond(text)] as const),
        );
        return { responses: new Map(answers), isComplete: true };
      },
      knows: (node) => reachable().some(({ id }) => id === node),
      notify: (to, text) => {
        this.sent.push(text);
        if (!this.isLossy)
          reachable()
            .find(({ id }) => id === to)
            ?.requests.notified(self.id, text);
      },
    };
  }

  /** Advances in steps, so that promises resolve in between. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      this.clock.advance(100);
      for (let i = 0; i < 20; i++) await Promise.resolve();
    }
  }
}

export const fakeConnection = (spaceId: SpaceId, peerId: string, keyId = "pk_live_1"): Connection =>
  ({
    id: `c-${peerId}`,
    address: "192.0.2.7",
    peerId,
    keyId,
    peer: { space: { id: spaceId, owner: spaceId } },
  }) as unknown as Connection;
