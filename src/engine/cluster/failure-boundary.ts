/**
 * The failure boundary of the engine: an error thrown in a callback or a timer is reported and stops here. What this node knows of
 * another may be wrong afterwards, so it asks for it again with the next heartbeat. Not at once: if the answer causes the same error,
 * question and answer would repeat at the speed of the network.
 */
import type { NodeId } from "../engine.ts";

export type FaultContext = Readonly<Record<string, unknown>>;
export type Fault = (error: unknown, context: FaultContext) => void;

export class Boundary {
  /** Nodes whose state is in doubt. */
  private doubts = new Set<NodeId>();
  /** It is not known whose. */
  private isAllInDoubt = false;

  constructor(private readonly fault: Fault) {}

  /** `failed` repairs what can be repaired at once. */
  run(context: FaultContext, work: () => void, failed?: () => void): void {
    try {
      work();
    } catch (error) {
      this.report(error, context);
      if (failed) this.run({ ...context, in: "recovery" }, failed);
    }
  }

  report(error: unknown, context: FaultContext): void {
    try {
      this.fault(error, context);
    } catch {
      // A reporter that fails must not end the process either.
    }
  }

  /** The state of that node is asked for again with the next heartbeat; absent: the state of all nodes. */
  doubt(node?: NodeId): void {
    if (node === undefined) this.isAllInDoubt = true;
    else this.doubts.add(node);
  }

  /** Those of the nodes that are in doubt; they are no longer. */
  takeDoubts<T extends { readonly id: NodeId }>(nodes: readonly T[]): T[] {
    const found = this.isAllInDoubt ? [...nodes] : nodes.filter(({ id }) => this.doubts.has(id));
    this.isAllInDoubt = false;
    this.doubts = new Set();
    return found;
  }
}
