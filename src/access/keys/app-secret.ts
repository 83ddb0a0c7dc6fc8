/** The secret key of an application across rotations: each generation works until its grace period ends. */
import type { AppRow } from "../../store/contract/store.ts";
import { PREVIOUS_SECRETS_MAX } from "../limits.ts";
import { isLive } from "./keyring.ts";
import { DUMMY_DIGEST, indexOfMatch } from "./vault.ts";

/** The generation of what was signed before generations were written into it. */
export const FIRST_GENERATION = 1;

/**
 * The generation (`seq`) of the live secret that was presented, or undefined if it matches none. The number of digests compared
 * is always the same, also without an application, so that the response time reveals nothing.
 */
export function generationOf(presented: string, app: AppRow | undefined, nowMs: number): number | undefined {
  const live = app?.previousSecrets.filter((one) => isLive(one, nowMs)) ?? [];
  const secrets = app ? [{ seq: app.secretSeq, digest: app.secretDigest }, ...live] : [];
  const digests = secrets.map((one) => one.digest);
  while (digests.length <= PREVIOUS_SECRETS_MAX) digests.push(DUMMY_DIGEST);
  return secrets[indexOfMatch(presented, digests)]?.seq;
}

/** Whether what was made under that generation of the secret is still valid. */
export const isLiveGeneration = (app: AppRow, seq: number, nowMs: number): boolean =>
  seq === app.secretSeq || app.previousSecrets.some((one) => one.seq === seq && isLive(one, nowMs));

/**
 * The same for connect tokens of rooms (meetings.md 6). The service has signed them: a generation that this node does not know yet is one of a rotation that
 * another node made a moment ago.
 */
export const isLiveRoomToken = (
  app: AppRow,
  { gen = FIRST_GENERATION }: { readonly gen?: number | undefined },
  nowMs: number,
): boolean => gen > app.secretSeq || isLiveGeneration(app, gen, nowMs);
