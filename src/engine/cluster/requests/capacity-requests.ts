/** Asks the other nodes for what they have taken of a cap, where that is necessary (capacity-claims.ts). */
import type { AppId } from "../../../base/ids.ts";
import type { Claim } from "../../engine.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { type CapacityClaims, mayHave } from "./capacity-claims.ts";
import type { Requests } from "./requests.ts";

interface CapacityRequestsParts {
  readonly claims: CapacityClaims;
  readonly requests: Requests;
  readonly nodes: Nodes;
}

/** undefined: there is no capacity. */
export function claimCapacity(
  { claims, requests, nodes }: CapacityRequestsParts,
  app: AppId,
  cap: number,
  canAsk: boolean,
): Claim | undefined | Promise<Claim | undefined> {
  const known = nodes.all.map(({ connections }) => connections.get(app) ?? 0);
  const mustAsk = canAsk && claims.mustAsk(app, cap, known);
  const claim = claims.open(app, mustAsk);
  if (!mustAsk) return claims.decide(claim, cap, sum(known));
  return new Promise((resolve) =>
    requests.toAll({ kind: "capacity", app, number: claim.number }, (responses) => {
      const { all } = nodes;
      const taken = all.map(({ name, connections }) => {
        const response = responses.get(name);
        if (response?.kind === "capacity") return response.taken;
        return mayHave(connections.get(app) ?? 0, cap, all.length);
      });
      resolve(claims.decide(claim, cap, sum(taken)));
    }),
  );
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
