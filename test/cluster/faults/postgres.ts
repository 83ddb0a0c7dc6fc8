/** PostgreSQL becomes unreachable under load and reachable again. */
import { expect, test } from "bun:test";
import type { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { type Key, mint } from "../../support/admin.ts";
import { until } from "../../support/wait.ts";
import type { Cluster } from "../support/cluster.ts";
import { OUTAGE_MS, SETTLE_MS, STORED } from "../support/load.ts";
import { Observer } from "../support/observer.ts";
import { show } from "../support/show.ts";
import { judgeStored } from "../support/stored.ts";

const EDIT_EVERY_MS = 50;

export function postgresFaults(cluster: () => Cluster, postgres: () => PostgresServer): void {
  test("PostgreSQL unreachable: connected peers exchange messages, tokens are accepted, the control plane responds 503, no acknowledged change is lost", async () => {
    await using fleet = await cluster().fleet();
    await using stored = await cluster().fleet(STORED);
    for (const one of [fleet, stored]) one.talk();
    // Edits never stop: every one that was answered with 200 must hold, whenever it was made.
    const { keyId } = await cluster().node(0).admin.createKey(cluster().key.app);
    const edits = new Edits(cluster(), keyId);
    const editing = edits.run();
    await Bun.sleep(500);
    await postgres().end();
    await until("the control plane does not say so", () => edits.statuses.has(503));
    const outage = Bun.sleep(OUTAGE_MS);
    for (const [at, node] of cluster().nodes.entries()) {
      const guest = await Observer.join(node, cluster().key, `guest-${at}`, "while-away");
      expect(await guest.say("hello")).toBe("");
      guest.leave();
      expect((await mint(node.url, cluster().key.credential)).status).toBe(200);
      expect((await node.admin.call("GET", "/apps")).status).toBe(503);
    }
    await outage;
    await postgres().begin();
    const refusedBefore = edits.answered;
    await until("no edit is taken any more", () => edits.answered > refusedBefore && edits.lastStatus === 200);
    edits.stop();
    await editing;
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("PostgreSQL", { edits: Object.fromEntries(edits.statuses), ...figures });
    expect([...edits.statuses.keys()].sort()).toEqual([200, 503]);
    for (const node of cluster().nodes) {
      const { label } = (await node.admin.key(keyId)) as Key;
      // The newest acknowledged label; or a later one that was refused, because its outcome was unknown.
      expect(Number(label)).toBeGreaterThanOrEqual(edits.acknowledged);
    }
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ closes: {}, errors: {} });
    const { errors, retries } = await judgeStored("PostgreSQL", stored);
    expect(errors.backend_error).toBeGreaterThan(0);
    expect(retries).toBeGreaterThan(0);
  });

  test("PostgreSQL frozen: what has history gets backend_error, a retry stores it once, and nothing else is affected", async () => {
    await using fleet = await cluster().fleet();
    await using stored = await cluster().fleet(STORED);
    for (const one of [fleet, stored]) one.talk();
    await Bun.sleep(300);
    await postgres().freeze();
    // Longer than the timeout of an append.
    await Bun.sleep(OUTAGE_MS + 1500);
    await postgres().thaw();
    await Bun.sleep(300);
    fleet.hush();
    const { errors, retries } = await judgeStored("PostgreSQL frozen", stored);
    expect(errors.backend_error).toBeGreaterThan(0);
    expect(retries).toBeGreaterThan(0);
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("PostgreSQL frozen", figures);
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ closes: {}, errors: {} });
  });
}

/** Edits one key repeatedly, on all nodes in turn. Each edit waits for the previous one. */
class Edits {
  readonly statuses = new Map<number, number>();
  acknowledged = 0;
  answered = 0;
  lastStatus = 0;
  private isStopped = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly keyId: string,
  ) {}

  stop(): void {
    this.isStopped = true;
  }

  async run(): Promise<void> {
    for (let number = 1; !this.isStopped; number++) {
      const { admin } = this.cluster.node(number % this.cluster.nodes.length);
      const { status } = await admin.call("PATCH", `/signalling/keys/${this.keyId}`, { label: String(number) });
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      this.lastStatus = status;
      this.answered++;
      if (status === 200) this.acknowledged = number;
      await Bun.sleep(EDIT_EVERY_MS);
    }
  }
}
