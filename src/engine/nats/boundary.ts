/**
 * The failure boundary of the engine: whatever throws while something arrives, or in a timer, is reported here and goes no further.
 * What this node knows of another may be wrong afterwards; it is asked for again with the next beat, and not at once: a fault that
 * returns with the answer would go round at the speed of the network.
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

  /** `failed` puts right what can be put right at once. */
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
      // Whoever reports must not make it worse.
    }
  }

  /** What is known of that node, or of any, is to be asked for again. */
  doubt(node?: NodeId): void {
    if (node === undefined) this.isAllInDoubt = true;
    else this.doubts.add(node);
  }

  /** Of these nodes: those in doubt, who are so no longer. */
  takeDoubts<T extends { readonly id: NodeId }>(nodes: readonly T[]): T[] {
    const found = this.isAllInDoubt ? [...nodes] : nodes.filter(({ id }) => this.doubts.has(id));
    this.isAllInDoubt = false;
    this.doubts = new Set();
    return found;
  }
}
