/** What the check of a credential costs the client's address (protocol, section 1, row 3): of a connect, and of a renewal alike. */
import { type Grant, Refusal } from "../../access/admission/admit.ts";
import { type Address, rateKey } from "../../base/address.ts";
import type { Throttle } from "../../base/throttle.ts";
import { CODES } from "../../protocol/codes.ts";
import { REFUSED_CONNECT_COST } from "./limits.ts";

export class ConnectCosts {
  constructor(private readonly connects: Throttle) {}

  /** Takes one connect; returns 0, or the seconds to wait until one is available. */
  take(client: Address): number {
    return this.connects.isOff ? 0 : this.connects.take(rateKey(client));
  }

  /** A self-signed token with costly patterns must not be a cheap way to use up our CPU. */
  chargeWork(client: Address, { extraConnects }: Grant | Refusal): void {
    if (extraConnects > 0) this.connects.charge(rateKey(client), extraConnects);
  }

  giveWorkBack(client: Address, { extraConnects }: Refusal): void {
    if (extraConnects > 0) this.connects.charge(rateKey(client), -extraConnects);
  }

  chargeRefusal(client: Address): void {
    this.connects.charge(rateKey(client), REFUSED_CONNECT_COST - 1);
  }

  giveRefusalBack(client: Address): void {
    this.connects.charge(rateKey(client), 1 - REFUSED_CONNECT_COST);
  }
}

/** The credential itself is refused, not for a reason of our own. */
export const isRefused = (admitted: Grant | Refusal): boolean =>
  admitted instanceof Refusal && CODES[admitted.code].status === 401;
