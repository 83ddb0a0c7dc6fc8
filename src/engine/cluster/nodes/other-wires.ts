/**
 * Nodes that this one cannot understand, because they use another version of the messages between nodes. They are heard, and ignored: clients of
 * one do not reach clients of the other. Operators must know that.
 */
import { VERSION } from "../wire/messages.ts";
import { type OtherWire, otherWire } from "../wire/other-wire.ts";
import { GONE_AFTER_HEARTBEATS } from "./nodes.ts";

/** Bound: nodes of other wires that are remembered at one time; further ones are ignored. */
export const OTHER_WIRES_MAX = 100;

interface OtherWiresParts {
  readonly heartbeatMs: number;
  readonly nowMs: () => number;
  /** Gets a sentence for the log: once for each node and each change of its version. */
  readonly warn: (text: string) => void;
}

export class OtherWires {
  /** By the name that a node has for itself. Bound: OTHER_WIRES_MAX. */
  private readonly heard = new Map<string, { readonly other: OtherWire; lastMs: number }>();

  constructor(private readonly parts: OtherWiresParts) {}

  /** Whether a text that could not be read is one of another wire. */
  notes(text: string): boolean {
    const other = otherWire(text);
    if (!other) return false;
    const { node, hasLeft } = other;
    if (node === undefined) return true;
    if (hasLeft) this.heard.delete(node);
    else this.hears(node, other);
    return true;
  }

  /** What each of them is, as a clause for people: `node b (Parley 0.3.0)`. */
  get names(): readonly string[] {
    return [...this.heard.values()].map(({ other }) => nameOf(other));
  }

  /** Called several times per heartbeat: forgets those that are silent. */
  sweep(): void {
    const before = this.parts.nowMs() - GONE_AFTER_HEARTBEATS * this.parts.heartbeatMs;
    for (const [node, { lastMs }] of this.heard) if (lastMs < before) this.heard.delete(node);
  }

  private hears(node: string, other: OtherWire): void {
    const known = this.heard.get(node);
    if (!known && this.heard.size >= OTHER_WIRES_MAX) return;
    this.heard.set(node, { other, lastMs: this.parts.nowMs() });
    if (known && nameOf(known.other) === nameOf(other) && known.other.wire === other.wire) return;
    this.parts.warn(
      `${nameOf(other)} uses version ${other.wire} of the messages between nodes, and this node version ${VERSION}: they ignore each other, and their clients cannot reach each other. Run the same version of Parley on all nodes`,
    );
  }
}

const nameOf = ({ node, name = node, version }: OtherWire): string =>
  `node ${name} (${version === undefined ? "Parley of an unknown version" : `Parley ${version}`})`;
