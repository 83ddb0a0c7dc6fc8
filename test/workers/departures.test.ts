/** A worker is killed: what the others see of its members. The same as with a node of a cluster, which has a port of its own. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { changesOf, Gathering, peersBeside } from "../cluster/support/gathering.ts";
import { LEAVE_WITHIN_MS } from "../cluster/support/load.ts";
import { until } from "../support/wait.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(120_000);

const CHANNELS = 6;

test("kill -9 of a worker: its members leave everywhere in time, in one batch per channel, and no other member flaps", async () => {
  await using service = await Service.start(3);
  const { server, key } = service.world;
  using gathering = await Gathering.in({ key, node: () => server }, CHANNELS);
  const killedMs = performance.now();
  process.kill(service.workers[0] ?? 0, "SIGKILL");
  await until("no member has left", () => gathering.all.some(({ changes }) => changes.length > 0));
  await service.whole();
  const ghosts = gathering.all.filter(({ closeCode }) => closeCode !== undefined);
  const witnesses = gathering.all.filter(({ closeCode }) => closeCode === undefined);
  const affected = witnesses.filter((witness) => peersBeside(witness, ghosts).length > 0);
  await until("its members have not left", () => affected.every(({ changes }) => changes.length > 0));
  const lastMs = Math.max(...affected.map(({ changes }) => changes[0]?.atMs ?? 0)) - killedMs;
  expect(affected.length).toBeGreaterThan(0);
  for (const witness of affected)
    expect(changesOf(witness)).toEqual([{ joined: [], left: peersBeside(witness, ghosts) }]);
  for (const witness of witnesses) if (!affected.includes(witness)) expect(witness.changes).toEqual([]);
  expect(lastMs).toBeLessThan(LEAVE_WITHIN_MS);
});
