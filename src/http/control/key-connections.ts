/** How many connections a key has, over all nodes. */
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { Connections } from "../../realtime/connections/connections.ts";

const REQUEST = "key-connections";

export type KeyConnections = (keyId: string) => Promise<number>;

/** Registers this node's answer, and returns the sum over all nodes. Nodes that do not respond are left out. */
export function keyConnections(
  nodeRequests: Pick<NodeRequests, "gather" | "onRequest">,
  connections: Pick<Connections, "countOfKey">,
): KeyConnections {
  nodeRequests.onRequest(REQUEST, (keyId) => (typeof keyId === "string" ? connections.countOfKey(keyId) : 0));
  return async (keyId) => {
    const { answers } = await nodeRequests.gather(REQUEST, keyId, decodeCount);
    return answers.reduce((sum, count) => sum + count, 0);
  };
}

function decodeCount(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw new Error("not a number of connections");
}
