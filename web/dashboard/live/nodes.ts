/** The nodes of the service, with those that have just stopped to respond. */
import { useRef } from "preact/hooks";
import { nowSeconds } from "../api/now.ts";
import type { List, NodeState } from "../api/types.ts";
import { type Live, useLive } from "./live.ts";

export interface SeenNode extends NodeState {
  /** Unix seconds of the last answer that had it; absent: the newest answer has it. */
  readonly awaySince?: number;
}

/** How long a node that no longer responds stays in the list: a restart is over by then. */
const AWAY_SHOWN_SEC = 600;

/** It does not respond, or has lost NATS or the store. */
export const isAway = ({ awaySince, nats, store }: SeenNode): boolean =>
  awaySince !== undefined || nats === "away" || store === "away";

const idOf = ({ nodeId, worker }: NodeState): string => `${nodeId} ${worker ?? ""}`;

export interface Nodes extends Pick<Live<unknown>, "error"> {
  readonly data: readonly SeenNode[] | undefined;
  readonly isComplete: boolean;
}

export function useNodes(everyMs: number): Nodes {
  const { data, error } = useLive<List<NodeState>>("/nodes", { everyMs });
  /** Bound: nodes of the service, and those that left it within AWAY_SHOWN_SEC. */
  const seen = useRef(new Map<string, SeenNode>());
  const answer = useRef<typeof data>(undefined);
  if (data && answer.current !== data) {
    answer.current = data;
    const now = nowSeconds.peek();
    const next = new Map<string, SeenNode>(data.data.map((node) => [idOf(node), node]));
    for (const [id, node] of seen.current) {
      const awaySince = node.awaySince ?? now;
      if (!next.has(id) && now - awaySince < AWAY_SHOWN_SEC) next.set(id, { ...node, awaySince });
    }
    seen.current = next;
  }
  return {
    data: data && [...seen.current.values()].sort((a, b) => idOf(a).localeCompare(idOf(b), "en", { numeric: true })),
    error,
    isComplete: data?.isComplete ?? true,
  };
}
