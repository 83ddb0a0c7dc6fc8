/**
 * Peers whose connection this node has closed and that it expects back. Nodes publish that a peer has connected on a subject that
 * only a node subscribes to which expects it: without one, the message costs nothing beyond the publish.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { EngineCallbacks } from "../../engine.ts";
import type { TransportSubscription } from "../../transport/transport.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { peerReturned } from "../wire/decode.ts";
import * as encode from "../wire/encode.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Received, Wire } from "../wire/wire.ts";

interface ExpectedPeersParts {
  readonly local: Pick<EngineCallbacks, "id" | "returned">;
  readonly wire: Pick<Wire, "publish" | "subscribe" | "isDirect" | "hasSubscriber">;
  readonly subjects: Pick<Subjects, "returned">;
  readonly nodes: Pick<Nodes, "seen">;
  /** A text has arrived that no node sends. */
  readonly unexpected: (text: string) => void;
}

export class ExpectedPeers {
  /** By subject. Bound: peers that this node expects back (LINGERING_MAX). */
  private readonly expected = new Map<string, TransportSubscription>();

  constructor(private readonly parts: ExpectedPeersParts) {}

  has(spaceId: SpaceId, peerId: string): boolean {
    return this.expected.size > 0 && this.expected.has(this.parts.subjects.returned(spaceId, peerId));
  }

  begin(spaceId: SpaceId, peerId: string): void {
    const { wire, subjects } = this.parts;
    const subject = subjects.returned(spaceId, peerId);
    if (this.expected.has(subject)) return;
    this.expected.set(
      subject,
      wire.subscribe(subject, (received) => this.receive(received)),
    );
  }

  /** A peer has connected to this node. */
  connected(spaceId: SpaceId, peerId: string): void {
    const { wire, subjects, local } = this.parts;
    this.end(spaceId, peerId);
    const subject = subjects.returned(spaceId, peerId);
    // As almost always: none expects it.
    if (wire.isDirect && !wire.hasSubscriber(subject)) return;
    wire.publish(subject, encode.peerReturned({ node: local.id, app: spaceId, peerId }));
  }

  end(spaceId: SpaceId, peerId: string): void {
    if (this.expected.size === 0) return;
    const subject = this.parts.subjects.returned(spaceId, peerId);
    this.expected.get(subject)?.end();
    this.expected.delete(subject);
  }

  private receive({ subject, text }: Received): void {
    const { local, subjects, nodes, unexpected } = this.parts;
    const message = peerReturned(text);
    // The subject decides which peer it is: a message that names another one is forged.
    if (!message || subject !== subjects.returned(message.app, message.peerId)) return unexpected(text);
    if (nodes.seen(message.node)) local.returned(message.app, message.peerId);
  }
}
