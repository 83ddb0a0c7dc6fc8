/**
 * What operators look at is spread over the nodes: lists of peers, charts, the live tail. A part of the node registers what it
 * answers under a name of its own; `gather` collects the answers of all nodes, this one included.
 *
 * What another node sends is untrusted: `decode` checks it and throws if it is not of the expected form. Such a node counts as one
 * that has not responded.
 */
import { parseBounded } from "./bounded-json.ts";
import type { Engine, NodeName } from "./engine.ts";

export interface Gathered<T> {
  /** This node's answer first. */
  readonly answers: readonly T[];
  /** Every node has responded. */
  readonly isComplete: boolean;
}

type Respond = (payload: unknown) => unknown;
type Notified = (from: NodeName, payload: unknown) => void;
type Decode<T> = (value: unknown) => T;

interface Sent {
  readonly name: string;
  readonly payload: unknown;
}

/** The requests that 0.1.0 answers. It takes any other for a fault of its own. Bound: those in the code. */
const IN_0_1_0: ReadonlySet<string> = new Set([
  "busiest channels",
  "channel connections",
  "key-connections",
  "live channel",
  "live channels",
  "live channels by name",
  "live peer",
  "live peers",
  "node",
  "rooms: meetings.changed",
  "rooms: meetings.close",
  "rooms: meetings.connected",
  "rooms: meetings.replaced",
  "series",
  "set state",
  "tail",
]);

export class NodeRequests {
  // Bound: one entry per part of the node that registers, all at the start.
  private readonly responders = new Map<string, Respond>();
  /** Bound: as `responders`. */
  private readonly receivers = new Map<string, Notified>();

  constructor(
    private readonly engine: Pick<Engine, "request" | "notify" | "knows" | "othersKnown">,
    readonly self: NodeName,
  ) {}

  /** `respond` gets what another node has sent, so it checks it; its result must be JSON. */
  onRequest(name: string, respond: Respond): void {
    this.responders.set(name, respond);
  }

  onNotification(name: string, receive: Notified): void {
    this.receivers.set(name, receive);
  }

  /** Resolves when `gather` asks every node that was there when this one started. */
  async othersKnown(): Promise<void> {
    await this.engine.othersKnown?.();
  }

  async gather<T>(name: string, payload: unknown, decode: Decode<T>): Promise<Gathered<T>> {
    const asked = this.engine.request(textOf({ name, payload }), !IN_0_1_0.has(name));
    const own = decode(await this.responders.get(name)?.(payload));
    const { responses, isComplete } = await asked;
    const others = [...responses.values()].map((text) => decoded(text, decode));
    return {
      answers: [own, ...others.filter((one) => one !== undefined)],
      isComplete: isComplete && !others.includes(undefined),
    };
  }

  /** Whether another node of this name is there, as far as this one knows. */
  knows(node: NodeName): boolean {
    return this.engine.knows(node);
  }

  notify(node: NodeName, name: string, payload: unknown): void {
    this.engine.notify(node, textOf({ name, payload }));
  }

  /** A request of another node. The answer is empty if there is no such request: the other node runs a newer version, and need not wait. */
  async respond(text: string): Promise<string> {
    const { name, payload } = parsed(text);
    const respond = this.responders.get(name);
    if (!respond) return "";
    return JSON.stringify(await respond(payload));
  }

  notified(from: NodeName, text: string): void {
    const { name, payload } = parsed(text);
    this.receivers.get(name)?.(from, payload);
  }
}

/** Deeper than anything that parts of a node send. What clients send is passed on as text. */
const DEPTH_MAX = 32;

const textOf = (sent: Sent): string => JSON.stringify(sent);

function parsed(text: string): Sent {
  const value = parseBounded(text, DEPTH_MAX);
  if (typeof value !== "object" || value === null || !("name" in value) || typeof value.name !== "string")
    throw new Error("a request without a name");
  return { name: value.name, payload: "payload" in value ? value.payload : undefined };
}

function decoded<T>(text: string, decode: Decode<T>): T | undefined {
  try {
    const value = parseBounded(text, DEPTH_MAX);
    return value === undefined ? undefined : decode(value);
  } catch {
    return undefined;
  }
}
