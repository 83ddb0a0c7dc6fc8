/**
 * Stops errors thrown in callbacks and timers of the node protocol, and reports them. What this node knows of another may be stale
 * afterwards, so it requests that node's state with the next heartbeat. Not at once: if handling the response causes the same
 * error, request and response would repeat at the speed of the network.
 */
import type { NodeId } from "../../engine.ts";
import type { FaultContext } from "../../transport/transport.ts";

export type ReportFault = (error: unknown, context: FaultContext) => void;

export class FailureBoundary {
  /** Nodes whose state is requested with the next heartbeat. Bound: one per other node. */
  private staleNodes = new Set<NodeId>();
  /** It is not known which node an error concerns. */
  private areAllStale = false;

  constructor(private readonly fault: ReportFault) {}

  /** `repair` runs after an error, inside the boundary too. */
  run(context: FaultContext, work: () => void, repair?: () => void): void {
    try {
      work();
    } catch (error) {
      this.report(error, context);
      if (repair) this.run({ ...context, in: "recovery" }, repair);
    }
  }

  report(error: unknown, context: FaultContext): void {
    try {
      this.fault(error, context);
    } catch {
      // A failing reporter must not end the process either.
    }
  }

  /** The state of that node, or of all nodes, is requested with the next heartbeat. */
  markStale(node?: NodeId): void {
    if (node === undefined) this.areAllStale = true;
    else this.staleNodes.add(node);
  }

  /** Those of the nodes whose state is stale; they are no longer marked. */
  takeStale<T extends { readonly id: NodeId }>(nodes: readonly T[]): T[] {
    const stale = this.areAllStale ? [...nodes] : nodes.filter(({ id }) => this.staleNodes.has(id));
    this.areAllStale = false;
    this.staleNodes = new Set();
    return stale;
  }
}
