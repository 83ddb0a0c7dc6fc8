/** Requests that wait for responses. One is finished when all nodes have responded or are gone, or after a timeout. */
import type { NodeResponse, ResponsePart } from "../wire/messages.ts";
import { joinParts } from "./response-parts.ts";

/** Timeout for a response, and for each further part of one. */
export const RESPONSE_TIMEOUT_MS = 1000;
/** Timeout for all parts of a response. */
export const WHOLE_RESPONSE_TIMEOUT_MS = 10_000;

interface PendingRequest {
  readonly waitingFor: Set<string>;
  /** By node. Bound: what arrives until 1 s after the last part, 10 s in all. */
  readonly parts: Map<string, NodeResponse[]>;
  untilMs: number;
  readonly lastMs: number;
  readonly done: (responses: ReadonlyMap<string, NodeResponse>) => void;
}

export class PendingRequests {
  /** Bound: requests of the last 10 s; each ends 1 s after the last part of a response. */
  private readonly pending = new Map<number, PendingRequest>();

  constructor(private readonly nowMs: () => number) {}

  /** `done` gets the complete responses, by node. */
  add(number: number, nodes: readonly string[], done: (responses: ReadonlyMap<string, NodeResponse>) => void): void {
    const waitingFor = new Set(nodes);
    if (waitingFor.size === 0) return done(new Map());
    const now = this.nowMs();
    const [untilMs, lastMs] = [now + RESPONSE_TIMEOUT_MS, now + WHOLE_RESPONSE_TIMEOUT_MS];
    this.pending.set(number, { waitingFor, parts: new Map(), untilMs, lastMs, done });
  }

  receive(number: number, { node, part, parts, response }: ResponsePart): void {
    const one = this.pending.get(number);
    if (!one?.waitingFor.has(node)) return;
    const received = one.parts.get(node) ?? [];
    one.parts.set(node, received);
    // Parts arrive in order: a different one means that a part was lost, and the response stays incomplete.
    if (part !== received.length) return;
    received.push(response);
    one.untilMs = Math.min(one.lastMs, this.nowMs() + RESPONSE_TIMEOUT_MS);
    if (received.length < parts) return;
    one.waitingFor.delete(node);
    if (one.waitingFor.size === 0) this.finish(number, one);
  }

  nodeGone(node: string): void {
    for (const [number, one] of [...this.pending]) {
      if (!one.waitingFor.delete(node)) continue;
      one.parts.delete(node);
      if (one.waitingFor.size === 0) this.finish(number, one);
    }
  }

  sweep(): void {
    const now = this.nowMs();
    for (const [number, one] of [...this.pending]) if (one.untilMs <= now) this.finish(number, one);
  }

  /** No further responses can arrive. */
  finishAll(): void {
    for (const [number, one] of [...this.pending]) this.finish(number, one);
  }

  private finish(number: number, { waitingFor, parts, done }: PendingRequest): void {
    this.pending.delete(number);
    const complete = [...parts].filter(([node]) => !waitingFor.has(node));
    done(new Map(complete.map(([node, received]) => [node, joinParts(received)])));
  }
}
