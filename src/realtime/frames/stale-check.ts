/** A credential that was refused by this node's copy of the key, and is checked again with the store's latest changes. */
import type { AdmitParts, Refusal } from "../../access/admission/admit.ts";
import type { Address } from "../../base/address.ts";
import type { ConnectCosts } from "../connections/connect-costs.ts";

export class StaleCheck {
  private readonly key;

  constructor(
    private readonly refusal: Refusal,
    private readonly parts: Pick<AdmitParts, "keyring" | "keyRate">,
  ) {
    this.key = parts.keyring.key(this.keyId);
  }

  /** Called after the changes were read. The same key refuses it again; then a costly check is neither made nor charged twice. */
  decide<T>(client: Address, costs: ConnectCosts, check: () => T): T | Refusal {
    const { refusal, parts, key, keyId } = this;
    if (key !== undefined && key === parts.keyring.key(keyId)) return refusal;
    // Otherwise what the first check has cost could refuse the second one.
    if (refusal.extraConnects > 0) parts.keyRate.charge(keyId, -refusal.extraConnects);
    costs.giveWorkBack(client, refusal);
    return check();
  }

  private get keyId(): string {
    return this.refusal.known.keyId ?? "";
  }
}
