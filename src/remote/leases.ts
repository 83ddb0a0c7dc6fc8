/** Leases of this worker, which the server keeps (store/sql/recordings/worker-leases.ts). They end with the connection that they were taken on. */
import { type BytesState, type Lease, LeaseLost, type LeaseNote, type Leases } from "../store/contract/leases.ts";
import type { SessionCalls } from "./methods.ts";

export class RemoteLeases implements Leases {
  /** `connection`: the number of the connection that is up, or was last. */
  constructor(
    private readonly calls: SessionCalls,
    private readonly connection: () => number,
  ) {}

  async take(id: string): Promise<Lease | undefined> {
    const connection = this.connection();
    const taken = await this.calls.takeLease(id);
    if (!taken) return undefined;
    const { generation, isTakeover, row } = taken;
    const isLost = (): boolean => connection !== this.connection();
    let noted: LeaseNote = {};
    return {
      generation,
      isTakeover,
      kept: undefined,
      row,
      confirm: async (isFresh) => {
        // Another worker that takes over between two questions continues in a copy, so this one cannot harm it.
        if (isLost() || (isFresh === true && !(await this.calls.isLeaseHeld(id, generation)))) throw new LeaseLost();
      },
      note: (note) => {
        noted = { ...noted, ...note };
      },
      release: async (isClean) => !isLost() && this.calls.releaseLease(id, generation, isClean, noted),
    };
  }

  look = (id: string): Promise<BytesState | undefined> => this.calls.lookAtLease(id);

  close(): void {
    // They end when the connection closes.
  }
}
