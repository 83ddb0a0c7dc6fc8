/** What the guards have in common when they refuse. */
import type { Follower } from "../../access/admission/store-follower.ts";
import { Problem } from "../../protocol/codes.ts";

/** Looks a credential up after the store's latest changes were read: another node may have created it a moment ago. */
export async function afterLatestChanges<T>(
  storeFollower: Follower,
  find: () => T | undefined,
): Promise<T | undefined> {
  const isUpToDate = await storeFollower.catchUp();
  const found = find();
  if (found === undefined && !isUpToDate)
    throw new Problem("internal_error", "This credential cannot be checked at the moment. Try again.", 1);
  return found;
}

export function refuseOverRate(seconds: number): void {
  if (seconds > 0) throw new Problem("rate_limited", undefined, seconds);
}
