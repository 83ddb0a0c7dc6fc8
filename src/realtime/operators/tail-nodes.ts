/**
 * The live tail over all nodes. This node serves its own readers, asks the other nodes to gather for them, and gathers for the readers
 * of the others (tail-watches.ts).
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { AppId } from "../../base/ids.ts";
import type { NodeName } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { Problem } from "../../protocol/codes.ts";
import {
  LEASES_MAX,
  READ_ROLE_READERS_MAX,
  READERS_MAX,
  READERS_PER_ADMIN_MAX,
  READERS_PER_READ_OPERATOR_MAX,
  RENEW_EVERY_MS,
} from "../../telemetry/tail/limits.ts";
import { TailReader, type TailSink } from "../../telemetry/tail/reader.ts";
import type { Tail } from "../../telemetry/tail/tail.ts";
import { checkedLine, decodeGathered, decodeWatching, decodeWatchRequest } from "./tail-decode.ts";
import { type TailQuery, tailFilter } from "./tail-filter.ts";
import { TailWatches } from "./tail-watches.ts";

interface TailNodesParts {
  readonly tail: Tail;
  readonly requests: Pick<NodeRequests, "gather" | "notify" | "onRequest" | "onNotification" | "self">;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly mayShowPayloads: (app: AppId) => boolean;
}

export interface OpenTail {
  /** How many nodes gather for this reader, once they have responded. */
  readonly nodes: Promise<number>;
  /** May be called more than once. */
  close(): void;
}

interface OwnReader {
  /** The name of the operator who reads. */
  readonly operator: string;
  readonly query: TailQuery;
  readonly reader: TailReader;
  /** By node: how many events it has had for this reader. Bound: LEASES_MAX. */
  readonly totals: Map<NodeName, number>;
  /** Ends the reader's stream. */
  readonly ended: () => void;
}

const REQUEST = "tail";
const EVENTS = "tail events";
const RETRY_SECONDS = 5;

export class TailNodes {
  /**
   * By id. Bound: READERS_MAX, of these READ_ROLE_READERS_MAX of the role read; READERS_PER_ADMIN_MAX and
   * READERS_PER_READ_OPERATOR_MAX per operator.
   */
  private readonly own = new Map<string, OwnReader>();
  private readonly watches: TailWatches;
  private version = 0;
  private isRenewing = false;
  private isClosed = false;
  /** The announcement that is under way, and the one after it: several changes share one. */
  private announcing: Promise<ReadonlySet<string>[]> | undefined;
  private next: Promise<ReadonlySet<string>[]> | undefined;

  constructor(private readonly parts: TailNodesParts) {
    const { tail, requests, clock } = parts;
    this.watches = new TailWatches({
      tail,
      clock,
      send: (node, events) => requests.notify(node, EVENTS, events),
    });
    requests.onRequest(REQUEST, (payload) => ({ watching: this.asked(payload) }));
    requests.onNotification(EVENTS, (from, payload) => this.gathered(from, payload));
  }

  /** Throws a Problem if the query is malformed, or there are too many readers. `ended` is called if the node stops. */
  open(operator: string, query: TailQuery, sink: TailSink, ended: () => void): OpenTail {
    const filter = tailFilter(query);
    if (this.isClosed) throw new Problem("internal_error", "This node is shutting down; try again.", RETRY_SECONDS);
    const reader = new TailReader(filter, sink);
    this.refuseTooMany(operator, reader);
    const id = randomUUID();
    this.own.set(id, { operator, query, reader, totals: new Map(), ended });
    this.parts.tail.add(reader);
    const nodes = this.announce().then((answers) => answers.filter((ids) => ids.has(id)).length);
    this.renew();
    return { nodes, close: () => this.end(id) };
  }

  get size(): number {
    return this.own.size;
  }

  /** Readers of other nodes that this node gathers for. */
  get remoteSize(): number {
    return this.watches.size;
  }

  /** Ends all readers, because the node stops. */
  close(): void {
    this.isClosed = true;
    for (const { reader, ended } of [...this.own.values()]) {
      // The closes of this node's connections, which came just before.
      reader.flush();
      ended();
    }
    this.watches.close();
  }

  private end(id: string): void {
    const one = this.own.get(id);
    if (!one) return;
    this.own.delete(id);
    this.parts.tail.remove(one.reader);
    // At once: an operator whose access has ended must not cause work on other nodes until the lease is over.
    void this.announce();
  }

  private refuseTooMany(operator: string, { isOfAdmin }: TailReader): void {
    const all = [...this.own.values()];
    const perOperatorMax = isOfAdmin ? READERS_PER_ADMIN_MAX : READERS_PER_READ_OPERATOR_MAX;
    if (all.length >= READERS_MAX) throw tooMany(`at most ${READERS_MAX} readers of the tail`);
    if (all.filter((one) => one.operator === operator).length >= perOperatorMax)
      throw tooMany(
        `each operator of the role ${isOfAdmin ? "admin" : "read"} with at most ${perOperatorMax} readers of the tail`,
      );
    if (!isOfAdmin && all.filter(({ reader }) => !reader.isOfAdmin).length >= READ_ROLE_READERS_MAX)
      throw tooMany(
        `all operators of the role read together with at most ${READ_ROLE_READERS_MAX} readers of the tail`,
      );
  }

  /** Sends the filters of all readers to all nodes. Never rejects. */
  private announce(): Promise<ReadonlySet<string>[]> {
    if (!this.announcing) {
      this.announcing = this.ask().finally(() => {
        this.announcing = undefined;
      });
      return this.announcing;
    }
    this.next ??= this.announcing.then(() => {
      this.next = undefined;
      return this.announce();
    });
    return this.next;
  }

  private async ask(): Promise<ReadonlySet<string>[]> {
    const { requests } = this.parts;
    const readers = [...this.own].map(([id, { query }]) => ({ id, query }));
    try {
      const request = { from: requests.self, version: ++this.version, readers };
      return [...(await requests.gather(REQUEST, request, decodeWatching)).answers];
    } catch {
      // Other nodes learn it with the next renewal, or the lease ends.
      return [];
    }
  }

  private renew(): void {
    if (this.isRenewing || this.own.size === 0) return;
    this.isRenewing = true;
    this.parts.clock.after(RENEW_EVERY_MS, () => {
      this.isRenewing = false;
      if (this.own.size > 0) void this.announce();
      this.renew();
    });
  }

  /** A request of another node, or this node's own, which every gathering includes. */
  private asked(payload: unknown): string[] {
    const request = decodeWatchRequest(payload);
    if (request.from === this.parts.requests.self) return [...this.own.keys()];
    return this.isClosed ? [] : this.watches.renew(request);
  }

  private gathered(from: NodeName, payload: unknown): void {
    const { reader: id, lines, total } = decodeGathered(payload);
    const one = this.own.get(id);
    if (!one) return;
    const { mayShowPayloads } = this.parts;
    const showsData = (app: AppId): boolean => one.query.payloads && mayShowPayloads(app);
    let added = 0;
    for (const line of lines) {
      try {
        one.reader.addGathered(checkedLine(line, showsData));
        added++;
      } catch {
        // Counted below, with what was lost on the way.
      }
    }
    const before = one.totals.get(from) ?? 0;
    if (one.totals.size < LEASES_MAX || one.totals.has(from)) one.totals.set(from, total);
    // A lower total than before: the lease ended meanwhile, and began anew.
    const had = total >= before ? total - before : total;
    if (had > added) one.reader.addDropped(had - added);
  }
}

const tooMany = (what: string): Problem =>
  new Problem("rate_limited", `This node allows ${what} at the same time. Close another one first.`, RETRY_SECONDS);
