/** Services to which something on the way lets no WebSocket through: other clients of this program begin with HTTP, too. */

const BLOCKED_MS = 600_000;
const ADDRESSES_MAX = 100;

/** By address, until when in ms of `performance.now()`. Bound: ADDRESSES_MAX. */
const blocked = new Map<string, number>();

export const isBlocked = (address: string): boolean => (blocked.get(address) ?? 0) > performance.now();

export function setBlocked(address: string, is: boolean): void {
  if (blocked.size >= ADDRESSES_MAX) blocked.clear();
  blocked.set(address, is ? performance.now() + BLOCKED_MS : 0);
}
