/**
 * Paces guesses. The right token passes also from an address that has used up its wrong tries (protocol 8), so the rate per address
 * alone does not bound how many tokens such an address can try. Those are checked one after another, for all such addresses together.
 *
 * Tokens in the form that the service makes are not paced: they cannot be guessed at any speed, and so no flood keeps their holders out.
 */
import { GUESS_WAIT_MAX_MS, GUESSES_PER_SECOND } from "../../access/limits.ts";
import type { Clock } from "../../base/clock.ts";
import { Problem } from "../../protocol/codes.ts";

/** Made by the service, with 288 random bits (ids.ts). */
const MADE_TOKEN = /^(op|parley_admin)_[\w-]{48}$/;

export class GuessPace {
  private nextMs = 0;

  constructor(private readonly clock: Pick<Clock, "monotonicMs" | "after">) {}

  /** Resolves when the token may be checked; undefined: at once. Throws rate_limited if too many wait. */
  wait(token: string, isOverRate: () => boolean): Promise<void> | undefined {
    if (MADE_TOKEN.test(token) || !isOverRate()) return undefined;
    const nowMs = this.clock.monotonicMs();
    const atMs = Math.max(nowMs, this.nextMs) + 1000 / GUESSES_PER_SECOND;
    // Bound: GUESS_WAIT_MAX_MS × GUESSES_PER_SECOND requests wait at the same time.
    const waitMs = atMs - nowMs;
    if (waitMs > GUESS_WAIT_MAX_MS) throw new Problem("rate_limited", undefined, Math.ceil(waitMs / 1000));
    this.nextMs = atMs;
    return new Promise((resolve) => this.clock.after(waitMs, resolve));
  }
}
