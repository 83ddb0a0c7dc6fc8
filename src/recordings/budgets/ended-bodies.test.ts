/** Bodies that end while the sums of the store are read count, whether the sums have them or not. */
import { expect, test } from "bun:test";
import { asAppId } from "../../base/ids.ts";
import type { BytesUsed, UploadRow } from "../../store/contract/recordings.ts";
import { Budgets } from "./budgets.ts";

const APP = asAppId("a");
const LIMIT = 1000;

const row = (id: string): UploadRow =>
  ({ id, app: APP, stay: null, byGuest: false, bytes: 0 }) as Partial<UploadRow> as UploadRow;
const used = (ofApp: number): BytesUsed =>
  ({ ofApp, maxOfApp: LIMIT, ofStay: 0, ofGuests: 0 }) as Partial<BytesUsed> as BytesUsed;

/** Budgets of a store whose answers the test gives. */
function world() {
  const reads: PromiseWithResolvers<BytesUsed>[] = [];
  const bytesUsed = (): Promise<BytesUsed> => {
    const read = Promise.withResolvers<BytesUsed>();
    reads.push(read);
    return read.promise;
  };
  const budgets = new Budgets({ bytesUsed, noteBytes: async () => true }, () => 0);
  return { budgets, reads };
}

/** A body of another upload has come: the store has its bytes from now on. */
async function came(budgets: Budgets, reads: PromiseWithResolvers<BytesUsed>[], bytes: number): Promise<() => void> {
  const coming = budgets.requireBody(row("other"), 0, bytes, null);
  reads.at(-1)?.resolve(used(0));
  await coming;
  return () => budgets.ended("other");
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("sums from before its end are not taken for all there is", async () => {
  const { budgets, reads } = world();
  const ends = await came(budgets, reads, 900);
  const body = budgets.requireBody(row("one"), 0, 200, null);
  ends();
  reads.at(-1)?.resolve(used(0));
  const refused = body.catch((error: unknown) => error);
  await nextTurn();
  // Whether these have it cannot be known: they are read again.
  reads.at(-1)?.resolve(used(900));
  expect(await refused).toMatchObject({ code: "insufficient_storage" });
});

test("nor does it count twice, if there is room", async () => {
  const { budgets, reads } = world();
  const ends = await came(budgets, reads, 600);
  const body = budgets.requireBody(row("one"), 0, 300, null);
  ends();
  reads.at(-1)?.resolve(used(600));
  await nextTurn();
  expect(reads.length).toBe(3);
  reads.at(-1)?.resolve(used(600));
  expect(await body).toBe(300);
});

test("those that began after its end are taken as they are", async () => {
  const { budgets, reads } = world();
  const ends = await came(budgets, reads, 600);
  ends();
  const body = budgets.requireBody(row("one"), 0, 1000, null);
  reads.at(-1)?.resolve(used(0));
  expect(await body).toBe(1000);
});
