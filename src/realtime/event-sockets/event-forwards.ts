/**
 * A POST may reach another node than the one that holds the connection: another worker of a machine, or another node behind a load balancer. That
 * one passes the body on, and answers when it has the receipt. Both are notifications, which may be lost: without a receipt the client gets a 503 and
 * repeats the POST, and its number makes sure that nothing is taken twice.
 */
import type { EventSession, EventSessionNames } from "../../access/tokens/event-session.ts";
import type { Clock } from "../../base/clock.ts";
import type { NodeName } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { Problem } from "../../protocol/codes.ts";
import type { EventSessions } from "./event-sessions.ts";
import { FORWARD_MS, FORWARDS_MAX, POST_MAX_BYTES } from "./limits.ts";
import type { EventPost, PostResult } from "./posts.ts";

interface EventForwardsParts {
  readonly nodeRequests: Pick<NodeRequests, "self" | "knows" | "othersKnown" | "notify" | "onNotification">;
  readonly sessions: Pick<EventSessions, "take">;
  readonly names: Pick<EventSessionNames, "read">;
  readonly clock: Pick<Clock, "after">;
}

const POST = "events: post";
const RECEIPT = "events: receipt";

const GONE: PostResult = { kind: "gone" };
const BUSY: PostResult = { kind: "busy" };

type Settle = (result: PostResult) => void;

export class EventForwards {
  /** By number: POSTs whose receipt is awaited. Bound: FORWARDS_MAX, each for FORWARD_MS. */
  private readonly awaited = new Map<number, { readonly node: NodeName; readonly settle: Settle }>();
  /** Connections with a POST under way. Bound: FORWARDS_MAX. */
  private readonly busy = new Set<string>();
  private lastNumber = 0;

  constructor(private readonly parts: EventForwardsParts) {
    const { nodeRequests } = parts;
    nodeRequests.onNotification(POST, (from, payload) => this.received(from, payload));
    nodeRequests.onNotification(RECEIPT, (from, payload) => this.settled(from, payload));
  }

  isHere({ node }: EventSession): boolean {
    return node === this.parts.nodeRequests.self;
  }

  /** Whether the node that holds the connection is there, as far as is known. */
  async isThere({ node }: EventSession): Promise<boolean> {
    const { nodeRequests } = this.parts;
    if (nodeRequests.knows(node)) return true;
    await nodeRequests.othersKnown();
    return nodeRequests.knows(node);
  }

  /** One POST of a connection at a time; `read` reads its body. */
  async take(session: EventSession, read: () => Promise<EventPost>): Promise<PostResult> {
    if (this.busy.has(session.text) || this.busy.size >= FORWARDS_MAX) return BUSY;
    this.busy.add(session.text);
    try {
      return await this.forward(session, await read());
    } finally {
      this.busy.delete(session.text);
    }
  }

  private forward({ node, text }: EventSession, { body, ...post }: EventPost): Promise<PostResult> {
    const { nodeRequests, clock } = this.parts;
    if (!nodeRequests.knows(node)) return Promise.resolve(GONE);
    const number = ++this.lastNumber;
    return new Promise((resolve) => {
      const settle: Settle = (result) => {
        if (this.awaited.delete(number)) resolve(result);
      };
      this.awaited.set(number, { node, settle });
      clock.after(FORWARD_MS, () => settle(BUSY));
      // A text inside of a text would be twice as long, or six times: it may hold quotes and control characters.
      nodeRequests.notify(node, POST, { ...post, number, session: text, body: Buffer.from(body).toString("base64") });
    });
  }

  /** Another node has got a POST for a connection of this one. */
  private received(from: NodeName, payload: unknown): void {
    const { names, sessions, nodeRequests } = this.parts;
    const received = postIn(payload);
    if (!received) return;
    const session = names.read(received.session);
    const { number, post } = received;
    nodeRequests.notify(from, RECEIPT, { number, ...(session ? taken(() => sessions.take(session, post)) : GONE) });
  }

  private settled(from: NodeName, payload: unknown): void {
    const { number, kind, expected } = fieldsOf(payload);
    const awaited = typeof number === "number" ? this.awaited.get(number) : undefined;
    if (awaited?.node !== from) return;
    if (kind === "gap" && isCount(expected)) awaited.settle({ kind, expected });
    else if (kind === "taken" || kind === "gone" || kind === "origin") awaited.settle({ kind });
  }
}

/** The other node has checked the frames; if this one refuses them it is of another version, and the client cannot go on. */
function taken(take: () => PostResult): PostResult {
  try {
    return take();
  } catch (error) {
    if (error instanceof Problem) return GONE;
    throw error;
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

const fieldsOf = (payload: unknown): Readonly<Record<string, unknown>> =>
  typeof payload === "object" && payload !== null ? (payload as Record<string, unknown>) : {};

interface Received {
  readonly number: number;
  readonly session: string;
  readonly post: EventPost;
}

/** Other nodes are not trusted: anything else than what they send is dropped. */
function postIn(payload: unknown): Received | undefined {
  const { number, session, n, origin, isSameOrigin, body, isBye } = fieldsOf(payload);
  if (!isCount(number) || !isCount(n) || typeof session !== "string" || typeof body !== "string") return undefined;
  if (origin !== null && typeof origin !== "string") return undefined;
  if (typeof isSameOrigin !== "boolean" || typeof isBye !== "boolean") return undefined;
  const bytes = Buffer.from(body, "base64");
  if (bytes.length > POST_MAX_BYTES) return undefined;
  return { number, session, post: { n, origin, isSameOrigin, isBye, body: bytes.toString("utf8") } };
}
