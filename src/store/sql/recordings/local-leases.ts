/** Leases of a store that one process uses alone: in memory, and without an end. */
import type { EarlierLease, Lease, Leases } from "../../contract/leases.ts";

const NO_EARLIER_LEASE: EarlierLease = { generation: 0, isTakeover: false };

/** For a store that one process uses alone. */
export class LocalLeases implements Leases {
  /** Bound: one entry per body or completion under way. */
  private readonly held = new Set<string>();

  /** `earlier`: what worker processes have left in rows before this process opened the store. Bound: uploads that were open then. */
  constructor(private readonly earlier = new Map<string, EarlierLease>()) {}

  async take(id: string): Promise<Lease | undefined> {
    if (this.held.has(id)) return undefined;
    this.held.add(id);
    const { generation, isTakeover } = this.earlier.get(id) ?? NO_EARLIER_LEASE;
    return {
      generation,
      isTakeover,
      kept: undefined,
      confirm: async () => undefined,
      release: async (isClean) => {
        if (isClean && isTakeover) this.earlier.set(id, { generation, isTakeover: false });
        return this.held.delete(id);
      },
    };
  }

  close(): void {}
}
