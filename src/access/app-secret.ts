/** The secret key of an application, through its rotations: each generation works until the end of its grace. */
import { PREVIOUS_SECRETS_MAX } from "../protocol/limits.ts";
import type { AppRow } from "../store/store.ts";
import { isLive } from "./keyring.ts";
import { DUMMY_DIGEST, fitsOneOf } from "./vault.ts";

/** Without an application too, and always against as many digests, so that the time says nothing. */
export function isAppSecret(presented: string, app: AppRow | undefined, nowMs: number): boolean {
  const live = app?.previousSecrets.filter((one) => isLive(one, nowMs)) ?? [];
  const digests = app ? [app.secretDigest, ...live.map((one) => one.digest)] : [];
  while (digests.length <= PREVIOUS_SECRETS_MAX) digests.push(DUMMY_DIGEST);
  return fitsOneOf(presented, digests);
}

/** Whether what was made under that generation of the secret is still good. */
export const isLiveGeneration = (app: AppRow, seq: number, nowMs: number): boolean =>
  seq === app.secretSeq || app.previousSecrets.some((one) => one.seq === seq && isLive(one, nowMs));
