/**
 * Limits requests without a valid credential, per client address (IPv6: per /64). Public pages are counted before they are
 * sent. A refused request is counted when it is refused, so that clients with a valid credential never wait because of
 * others behind the same address: keys have a rate of their own.
 */
import { rateKey } from "../../base/address.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";

export class UnauthenticatedLimit {
  constructor(private readonly throttle: Throttle) {}

  /** Throws rate_limited if the address has used up its requests. */
  charge(call: Call): void {
    call.isCharged = true;
    const seconds = this.throttle.take(rateKey(call.client));
    if (seconds > 0) throw new Problem("rate_limited", "Too many requests from this address.", seconds);
  }

  /** The error to respond with: `refusal`, or rate_limited if the address has been refused too often. */
  errorFor(call: Call, refusal: unknown): unknown {
    if (call.isAuthenticated || call.isCharged) return refusal;
    try {
      this.charge(call);
      return refusal;
    } catch (rateLimited) {
      return rateLimited;
    }
  }
}
