/**
 * The rate at which an operator has connect tokens checked. Comparing a token with the patterns of its key can take a tenth of a second,
 * so that work is charged to the operator as further checks. The key pays nothing: its clients must not wait because an operator asks.
 */
import type { Operator } from "../../access/operators/operator.ts";
import type { Throttle } from "../../base/throttle.ts";
import { TOKEN_CHECKS_PER_REQUEST } from "../limits.ts";
import type { Guard } from "../server/endpoint.ts";
import { rateLimited } from "./operator.ts";
import { refuseOverRate } from "./refusals.ts";

export class TokenChecks {
  readonly guard: Guard<Operator>;

  constructor(
    guard: Guard<Operator>,
    private readonly rate: Pick<Throttle, "take" | "debt" | "charge">,
  ) {
    this.guard = rateLimited(guard, rate);
  }

  /**
   * To be called right before a check, whose work is charged with the result. Refuses an operator in debt: of calls that were admitted
   * at the same time, each could be costly.
   */
  begin({ name }: Operator): (requests: number) => void {
    refuseOverRate(this.rate.debt(name));
    return (requests) => this.rate.charge(name, requests * TOKEN_CHECKS_PER_REQUEST);
  }
}
