/** For tests: stand-ins for what realtime only writes to. */
import type { HistoryStore } from "../../history/contract/history.ts";
import type { Store, UsageRow, UsageWrite } from "../../store/contract/store.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Log } from "../../telemetry/log.ts";

export const silentLog = { error: () => {}, info: () => {}, warn: () => {}, debug: () => {} } as unknown as Log;

/** For tests without planted faults: it throws them on, so that a test cannot pass in spite of one. */
export const noFaults: FaultLog = {
  caught: (_where, error) => {
    throw error;
  },
};

/** For tests of channels without history. */
export const noHistory = { isShared: false, onRewound: () => {} } as unknown as HistoryStore;

/** The part of a store that counts usage, in memory; it can be made to fail. */
export class MemoryUsage {
  readonly rows = new Map<string, UsageRow>();
  writes = 0;
  failing = false;
  /** Writes are stored, and fail nevertheless: their answers are lost. */
  losingAnswers = false;
  /** The last write of each writer. */
  private readonly seqs = new Map<string, number>();

  /** `isShared`: other nodes write to it too. */
  constructor(isShared = false) {
    Object.assign(this.store, { isShared });
  }

  readonly store = {
    usage: async (period: number) => [...this.rows.values()].filter((row) => row.period === period),
    addUsage: async (rows: readonly UsageRow[], { writer, seq }: UsageWrite) => {
      this.writes++;
      if (this.failing) throw new Error("the disk is full");
      if (seq > (this.seqs.get(writer) ?? 0)) for (const row of rows) this.add(row);
      this.seqs.set(writer, Math.max(seq, this.seqs.get(writer) ?? 0));
      if (this.losingAnswers) throw new Error("the connection was lost");
    },
  } as unknown as Store;

  private add(row: UsageRow): void {
    const name = `${row.app} ${row.period}`;
    const old = this.rows.get(name) ?? { ...row, messages: 0, guestMessages: 0, peakConnections: 0 };
    this.rows.set(name, {
      ...old,
      messages: old.messages + row.messages,
      guestMessages: old.guestMessages + row.guestMessages,
      peakConnections: Math.max(old.peakConnections, row.peakConnections),
    });
  }
}
