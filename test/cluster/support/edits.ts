/** Edits one key repeatedly, on all nodes in turn. Each edit waits for the previous one. */
import { expect } from "bun:test";
import type { Key } from "../../support/admin.ts";
import type { Server } from "../../support/parley.ts";
import { until } from "../../support/wait.ts";

const EDIT_EVERY_MS = 50;

export class Edits {
  readonly statuses = new Map<number, number>();
  acknowledged = 0;
  answered = 0;
  lastStatus = 0;
  private isStopped = false;

  constructor(
    private readonly nodes: readonly Server[],
    private readonly keyId: string,
  ) {}

  stop(): void {
    this.isStopped = true;
  }

  async run(): Promise<void> {
    for (let number = 1; !this.isStopped; number++) {
      const node = this.nodes[number % this.nodes.length];
      const { status } = (await node?.admin.call("PATCH", `/signalling/keys/${this.keyId}`, {
        label: String(number),
      })) ?? {
        status: 0,
      };
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      this.lastStatus = status;
      this.answered++;
      if (status === 200) this.acknowledged = number;
      await Bun.sleep(EDIT_EVERY_MS);
    }
  }

  /** Returns how long that took. */
  accepted(withinMs?: number): Promise<number> {
    const before = this.answered;
    return until("no edit is taken", () => this.answered > before && this.lastStatus === 200, withinMs);
  }

  /** On every node: the newest acknowledged label; or a later one that was refused, because its outcome was unknown. */
  async hold(): Promise<void> {
    for (const { admin } of this.nodes)
      expect(Number(((await admin.key(this.keyId)) as Key).label)).toBeGreaterThanOrEqual(this.acknowledged);
  }
}
