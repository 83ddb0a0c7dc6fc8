/** Reads heartbeats. Untrusted, like the texts they are in. */
import { type Fields, isApp, isCount, listOf, nodeOf, partOf } from "./decode-entries.ts";
import type { Heartbeat, ListNumber } from "./messages.ts";

export function heartbeatOf(
  node: string,
  [counts, receivesFrom, isReconnected, part = 0, parts = 1, clockMs, _about, list]: Fields,
): Heartbeat | undefined {
  const connections = listOf(counts, (one) =>
    Array.isArray(one) && isApp(one[0]) && isCount(one[1]) ? ([one[0], one[1]] as const) : undefined,
  );
  const nodes = listOf(receivesFrom, nodeOf);
  const at = partOf(part, parts);
  const number = list === undefined ? undefined : listNumberOf(list);
  if (!connections || !nodes || !at || (list !== undefined && !number)) return undefined;
  const counted = new Map(connections);
  return {
    kind: "heartbeat",
    node,
    connections: counted,
    receivesFrom: nodes,
    isReconnected: isReconnected === true,
    ...at,
    ...(isCount(clockMs) && { clockMs }),
    ...(number && { list: number }),
  };
}

function listNumberOf(value: unknown): ListNumber | undefined {
  if (!Array.isArray(value)) return undefined;
  const [number, ...changes] = value as Fields;
  if (!isCount(number)) return undefined;
  if (changes.length === 0) return { number };
  const [added, removed] = [listOf(changes[0], nodeOf), listOf(changes[1], nodeOf)];
  return added && removed && { number, added, removed };
}
