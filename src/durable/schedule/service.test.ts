import { expect, test } from "bun:test";
import type { Target } from "../targets/target.ts";
import { ScheduledNode, TestStore, TestTarget, TestTime } from "../testing/scheduled-node.ts";
import { BackupListing } from "./listing.ts";
import { BackupService, type BackupTarget, NoBackupPlace, NoSuchBackup } from "./service.ts";

const EVERY_MS = 3_600_000;

function setup() {
  const [store, time, target] = [new TestStore(), new TestTime(), new TestTarget()];
  const newNode = () => new ScheduledNode({ store: store.seen(true), time, target, everyMs: EVERY_MS });
  const serviceOf = ({ jobs, notes, lease, schedule }: ScheduledNode, hasPlace = true): BackupService => {
    const place = { kind: "folder", shown: "/backups", open: async () => target as unknown as Target } as const;
    const listing = new BackupListing(place, () => true, { monotonicMs: () => time.monotonicMs });
    const own = { place, listing, schedule, everySeconds: 3600 } as unknown as BackupTarget;
    const progressElsewhere = async () => ({ bytes: 1, total: 2 });
    return new BackupService({ jobs, notes, lease, target: hasPlace ? own : undefined, progressElsewhere });
  };
  return { newNode, serviceOf };
}

test("a node lists what another one has made as soon as that is noted", async () => {
  const { newNode, serviceOf } = setup();
  const [one, other] = [newNode(), newNode()];
  const service = serviceOf(other);
  expect((await service.listing()).backups).toEqual([]);
  await one.look();
  await one.succeed();
  const name = (await service.note()).success?.name;
  expect((await service.listing()).backups.map((backup) => backup.name)).toEqual([name as string]);
});

test("a backup that another node makes is shown with its progress, and an own one as such", async () => {
  const { newNode, serviceOf } = setup();
  const [one, other] = [newNode(), newNode()];
  const [here, elsewhere] = [serviceOf(one), serviceOf(other)];
  expect(await here.making()).toBeUndefined();
  await one.look();
  expect(await here.making()).toMatchObject({ isHere: true, progress: { bytes: 0 } });
  expect(await elsewhere.making()).toMatchObject({ isHere: false, progress: { bytes: 1, total: 2 } });
  await one.succeed();
  expect(await elsewhere.making()).toBeUndefined();
});

test("one that is not kept is not found, and without a place none is started", async () => {
  const { newNode, serviceOf } = setup();
  const node = newNode();
  await expect(serviceOf(node).found("parley-20300131T020000Z.backup")).rejects.toBeInstanceOf(NoSuchBackup);
  const without = serviceOf(node, false);
  expect([without.health, await without.listing()]).toEqual([undefined, { backups: [], problem: null }]);
  await expect(without.start()).rejects.toBeInstanceOf(NoBackupPlace);
});
