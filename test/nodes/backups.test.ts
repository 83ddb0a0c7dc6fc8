/** Scheduled backups of several nodes on one PostgreSQL: one of them makes each, and all of them know. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ScheduledNode, TestTarget, TestTime } from "../../src/durable/testing/scheduled-node.ts";
import { openStore } from "../../src/store/open.ts";
import { newApplication } from "../support/application.ts";
import { CONFLICT, refused } from "../support/checks.ts";
import { call } from "../support/http.ts";
import type { Server } from "../support/parley.ts";
import { Backend } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";
import { found, until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(60_000);

const folder = scratch();
const kept = join(folder.path, "kept");
/** More than sockets and pipes hold. */
const RECORDED_BYTES = 16 * 1024 * 1024;
const EVERY_MS = 3_600_000;
const ROUNDS = 10;

let cluster: Cluster;
let one: Server;
let other: Server;
beforeAll(async () => {
  cluster = await Cluster.start({
    data: join(folder.path, "data"),
    env: { PARLEY_BACKUP_TO: kept, PARLEY_BACKUP_EVERY: "1d" },
  });
  [one, other] = cluster.pair;
});
afterAll(async () => {
  await cluster.stop();
  folder[Symbol.dispose]();
});

interface State {
  readonly making: { readonly isHere: boolean; readonly bytes: number | null } | null;
  readonly lastSuccess: { readonly name: string } | null;
  readonly data: readonly { readonly name: string }[];
}
const PAUSE_MS = 60;
const state = async ({ admin }: Server): Promise<State> => {
  await Bun.sleep(PAUSE_MS);
  return admin.must<State>("GET", "/backups");
};
const countMade = async ({ url }: Server): Promise<number> =>
  Number(/^parley_backups_total\{outcome="made"\} (\d+)$/m.exec((await call(`${url}/metrics`)).text)?.[1]);

test("nodes that start at the same time make one backup, which both list", async () => {
  const made = await found("one is made", async () => (await state(one)).lastSuccess ?? undefined);
  for (const node of [one, other]) {
    const { lastSuccess, data } = await state(node);
    expect([lastSuccess?.name, data.map(({ name }) => name)]).toEqual([made.name, [made.name]]);
  }
  expect(readdirSync(kept)).toEqual([made.name]);
  expect((await countMade(one)) + (await countMade(other))).toBe(1);
});

test("while one node makes a backup, the other says so, with its progress, and makes none", async () => {
  await new Backend(await newApplication(one)).record({}, new Uint8Array(randomBytes(RECORDED_BYTES)));
  const ending = new AbortController();
  const stream = await fetch(`${one.url}/api/internal/v1/backups/stream`, {
    method: "POST",
    headers: { Authorization: `Bearer ${one.adminToken}` },
    signal: ending.signal,
  });
  const seen = await found("its progress", async () => {
    const { making } = await state(other);
    return (making?.bytes ?? 0) > 0 ? making : undefined;
  });
  expect([seen?.isHere, (await state(one)).making?.isHere]).toEqual([false, true]);
  await refused(other.admin, CONFLICT, "POST", "/backups");
  ending.abort();
  await stream.bytes().catch(() => undefined);
  await until("it has ended", async () => (await state(other)).making === null);
  await other.admin.must("POST", "/backups");
  await until("the next one is made", async () => (await state(one)).data.length === 2);
});

test("two schedules that look at the same moment start one backup, every time", async () => {
  const url = await cluster.postgres.newDatabase();
  const stores = [await openStore(folder.path, url), await openStore(folder.path, url)];
  const [time, target] = [new TestTime(), new TestTarget()];
  const nodes = stores.map((store) => new ScheduledNode({ store, time, target, everyMs: EVERY_MS, keep: ROUNDS }));
  for (let round = 1; round <= ROUNDS; round++) {
    await Promise.all(nodes.map((node) => node.look()));
    const making = nodes.filter(({ isMaking }) => isMaking);
    expect(making).toHaveLength(1);
    await making[0]?.succeed();
    await Promise.all(nodes.map((node) => node.look()));
    expect(nodes.filter(({ isMaking }) => isMaking)).toHaveLength(0);
    expect(target.kept).toHaveLength(round);
    time.pass(EVERY_MS);
  }
  for (const store of stores) await store.close();
});
