/**
 * Requests that show no valid credential, counted per client address (IPv6: per /64). What everybody may read is counted before
 * it is answered; a refusal is counted when it is given, so that whoever shows a valid credential never waits for strangers
 * behind the same address: keys have a rate of their own.
 */
import { rateKey } from "../access/address.ts";
import type { Throttle } from "../access/throttle.ts";
import { Problem } from "../protocol/codes.ts";
import type { Call } from "./call.ts";

export class Strangers {
  constructor(private readonly throttle: Throttle) {}

  /** Throws where the address has used up what it may ask in a minute. */
  charge(call: Call): void {
    call.standing.isCharged = true;
    const seconds = this.throttle.take(rateKey(call.client));
    if (seconds > 0) throw new Problem("rate_limited", "Too many requests from this address.", seconds);
  }

  /** What to answer instead of a refusal: the refusal itself, or that there were too many. */
  refused(call: Call, refusal: unknown): unknown {
    if (call.standing.isKnown || call.standing.isCharged) return refusal;
    try {
      this.charge(call);
      return refusal;
    } catch (tooMany) {
      return tooMany;
    }
  }
}
