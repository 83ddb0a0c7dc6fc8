/** The admin token in force, as its digest: from the setting, else from the store, which other nodes can change. */
import { DUMMY_DIGEST, digestOf } from "../access/vault.ts";
import type { Snapshot } from "../store/store.ts";
import { adminTokenDigest } from "./first-run.ts";

export class AdminToken {
  private current = DUMMY_DIGEST;

  /** `justMade` was made by this start's first run. The store has it only after it was shown to the operator. */
  constructor(
    private readonly setting: string,
    private readonly justMade: string | undefined,
  ) {}

  update(snapshot: Snapshot): void {
    const stored = adminTokenDigest(snapshot);
    const clear = this.setting || (stored === undefined ? this.justMade : undefined);
    this.current = clear ? digestOf(clear) : (stored ?? DUMMY_DIGEST);
  }

  /** A digest that no token has if there is no admin token: comparisons take the same time. */
  get digest(): string {
    return this.current;
  }

  get exists(): boolean {
    return this.current !== DUMMY_DIGEST;
  }
}
