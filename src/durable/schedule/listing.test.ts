import { expect, test } from "bun:test";
import { type Target, TargetError } from "../targets/target.ts";
import { BackupListing } from "./listing.ts";

const LATE_MS = 50;
const ONE = { name: "parley-20300131T020000Z.backup", bytes: 3, timeMs: 0 };

function setup(list: () => Promise<(typeof ONE)[]>, hasMade = false) {
  const state = { nowMs: 0, asked: 0 };
  const target = {
    list: () => {
      state.asked++;
      return list();
    },
  } as Target;
  const place = { kind: "folder", shown: "/backups", open: async () => target } as const;
  const listing = new BackupListing(place, () => hasMade, { monotonicMs: () => state.nowMs }, LATE_MS);
  return { state, listing };
}

test("however many ask, the target is asked once in two seconds, and again after a change", async () => {
  const { state, listing } = setup(async () => [ONE]);
  for (let i = 0; i < 10; i++) expect(await listing.now()).toEqual({ backups: [ONE], problem: null });
  expect(state.asked).toBe(1);
  listing.forget();
  await listing.now();
  expect(state.asked).toBe(2);
  state.nowMs = 2000;
  await Promise.all([listing.now(), listing.now()]);
  expect(state.asked).toBe(3);
});

test("a target that fails is shown with the reason", async () => {
  const { listing } = setup(async () => {
    throw new TargetError("forbidden", "the folder /backups cannot be used");
  });
  expect(await listing.now()).toEqual({ backups: [], problem: "the folder /backups cannot be used" });
});

test("a folder that is not there yet is empty, and one that is not there any more is a problem", async () => {
  const missing = async (): Promise<never> => {
    throw new TargetError("missing", "the folder /backups does not exist");
  };
  expect(await setup(missing).listing.now()).toEqual({ backups: [], problem: null });
  expect((await setup(missing, true).listing.now()).problem).toContain("does not exist");
});

test("a target that hangs does not keep its caller waiting, and has one call under way", async () => {
  const { state, listing } = setup(() => new Promise(() => undefined));
  expect(await listing.now()).toEqual({ backups: [], problem: "/backups does not answer" });
  await Promise.all([listing.now(), listing.now()]);
  expect(state.asked).toBe(1);
});
