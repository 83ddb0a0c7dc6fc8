/** PostgreSQL becomes unreachable under load and reachable again. */
import { expect, test } from "bun:test";
import type { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { mint } from "../../support/admin.ts";
import { flowing } from "../../support/flowing.ts";
import { until } from "../../support/wait.ts";
import type { Cluster } from "../support/cluster.ts";
import { Edits } from "../support/edits.ts";
import { OUTAGE_MS, SETTLE_MS, STORED } from "../support/load.ts";
import { Observer } from "../support/observer.ts";
import { show } from "../support/show.ts";
import { judgeStored } from "../support/stored.ts";

export function postgresFaults(cluster: () => Cluster, postgres: () => PostgresServer): void {
  test("PostgreSQL unreachable: connected peers exchange messages, tokens are accepted, the control plane responds 503, no acknowledged change is lost", async () => {
    await using fleet = await cluster().fleet();
    await using stored = await cluster().fleet(STORED);
    for (const one of [fleet, stored]) one.talk();
    // Edits never stop: every one that was answered with 200 must hold, whenever it was made.
    const { keyId } = await cluster().node(0).admin.createKey(cluster().key.app);
    const edits = new Edits(cluster().nodes, keyId);
    const editing = edits.run();
    await flowing(fleet, stored);
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
    await edits.accepted();
    edits.stop();
    await editing;
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("PostgreSQL", { edits: Object.fromEntries(edits.statuses), ...figures });
    expect([...edits.statuses.keys()].sort()).toEqual([200, 503]);
    await edits.hold();
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
    await flowing(fleet, stored);
    await postgres().freeze();
    // Longer than the timeout of an append.
    await Bun.sleep(OUTAGE_MS + 1500);
    await postgres().thaw();
    await flowing(fleet, stored);
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
