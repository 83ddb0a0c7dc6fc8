/** Many uploads in small parts: what a process has taken, and the store does not know yet, counts in the budgets. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { openStore } from "../../store/open.ts";
import { PostgresServer } from "../../store/testing/postgres.ts";
import { type Kit, type KitOptions, makeKit } from "../testing/kit.ts";
import { HeldBytes } from "./held.ts";

setDefaultTimeout(60_000);

const KIB = 1024;
const MIB = 1024 * KIB;
const LIMIT = 8 * MIB;

const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0).reverse()) await kit.close();
});

async function newKit(options?: KitOptions): Promise<Kit> {
  const kit = await makeKit(options);
  kits.push(kit);
  await kit.store.change(async (change) => {
    const app = await change.app(kit.app);
    if (app) await change.putApp({ ...app, maxRecordingBytesTotal: LIMIT });
  });
  return kit;
}

/** Sends parts to an upload until one is refused. */
class Sender {
  sent = 0;
  refusal: unknown;

  constructor(
    private readonly kit: Kit,
    readonly id: string,
  ) {}

  async send(parts: number, bytes: number): Promise<void> {
    for (let n = 0; n < parts && this.refusal === undefined; n++)
      await this.kit.part(this.id, this.sent, new Uint8Array(bytes)).then(
        (held) => {
          this.sent = held;
        },
        (refusal) => {
          this.refusal = refusal;
        },
      );
  }
}

const guests = async (kit: Kit, count: number): Promise<Sender[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => new Sender(kit, await kit.beginOfStay(`s${n}-${kits.length}`, true))),
  );

const sentBy = (senders: readonly Sender[]): number => senders.reduce((sum, { sent }) => sum + sent, 0);

const over = (budget: string) => ({ code: "insufficient_storage", more: { fields: { budget } } });

describe("the uploads of guests, in small parts to one process", () => {
  test("have half of what the application may store together, one after the other", async () => {
    const kit = await newKit();
    const senders = await guests(kit, 20);
    for (const sender of senders) await sender.send(30, 64 * KIB);
    expect(sentBy(senders)).toBeLessThanOrEqual(LIMIT / 2);
    expect(sentBy(senders)).toBeGreaterThan(LIMIT / 4);
    expect(senders.at(-1)?.refusal).toMatchObject(over("guests"));
    for (const { id, sent } of senders) if (sent > 0) await kit.uploads.finish(kit.app, id);
    expect((await kit.recordings.stored(kit.app)).uploading).toBe(sentBy(senders));
    expect(await kit.part(await kit.beginOfStay("ann"), 0, new Uint8Array(LIMIT / 2))).toBe(LIMIT / 2);
  });

  test("have it in turns, and at the same time", async () => {
    const kit = await newKit();
    const senders = await guests(kit, 20);
    for (const sender of senders) await sender.send(1, 4 * KIB);
    await Promise.all(senders.map((sender) => sender.send(30, 64 * KIB)));
    expect(sentBy(senders)).toBeLessThanOrEqual(LIMIT / 2);
    expect(sentBy(senders)).toBeGreaterThan(LIMIT / 4);
    expect(await kit.record(new Uint8Array(LIMIT / 2))).toMatchObject({ sizeInBytes: LIMIT / 2 });
  });

  test("count no longer when they are completed or cancelled, here or by another process", async () => {
    const kit = await newKit();
    for (let n = 0; n < 3; n++) {
      const [completed, cancelled, removed] = await guests(kit, 3);
      for (const sender of [completed, cancelled, removed]) await sender?.send(1, MIB);
      await kit.recordings.complete(kit.app, completed?.id ?? "", { total: MIB });
      await kit.recordings.delete(kit.app, completed?.id ?? "");
      await kit.uploads.cancel(kit.app, cancelled?.id ?? "");
      await kit.store.recordings.discardUpload(removed?.id ?? "", Date.now());
      // This process has not seen that it was discarded.
      kit.aheadMs += 61_000;
    }
    const [one] = await guests(kit, 1);
    await one?.send(4, MIB);
    expect(one?.sent).toBe(4 * MIB);
  });
});

test("of more uploads than are held, the one that got no part for the longest time is noted", async () => {
  const notes: unknown[][] = [];
  const noteBytes = async (...note: unknown[]): Promise<boolean> => notes.push(note) > 0;
  const held = new HeldBytes({ noteBytes }, () => 1000, 2);
  const row = (id: string) => ({ id, app: "a" as never, stay: "s", byGuest: true, bytes: 0 });
  await held.took(row("one"), 3, 10);
  await held.took(row("two"), 3, 20);
  await held.took(row("one"), 3, 15);
  expect(notes).toEqual([]);
  await held.took(row("three"), 3, 30);
  expect(notes).toEqual([["two", 3, 20, 1000]]);
  expect([...held.all()].map(([id, { bytes }]) => [id, bytes])).toEqual([
    ["one", 15],
    ["three", 30],
  ]);
});

describe("the uploads of guests, in small parts to two nodes", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  test("never have more than half of what the application may store together, if all are sent to one of the nodes", async () => {
    const kit = await newKit({ store: await openStore("", await server.newDatabase()) });
    const senders = await guests(kit, 20);
    for (const sender of senders) await sender.send(1, 4 * KIB);
    await Promise.all(senders.map((sender) => sender.send(30, 64 * KIB)));
    expect(sentBy(senders)).toBeLessThanOrEqual(LIMIT / 2);
    expect(sentBy(senders)).toBeGreaterThan(LIMIT / 4);
  });

  test("have half of what the application may store together, but for parts under way", async () => {
    const url = await server.newDatabase();
    const one = await newKit({ store: await openStore("", url) });
    const other = await newKit({ store: await openStore("", url), app: one.app });
    const senders = [...(await guests(one, 10)), ...(await guests(other, 10))];
    for (const sender of senders) await sender.send(1, 4 * KIB);
    await Promise.all(senders.map((sender) => sender.send(30, 64 * KIB)));
    // Parts under way: one of each guest on the other node.
    expect(sentBy(senders)).toBeLessThanOrEqual(LIMIT / 2 + 10 * 64 * KIB);
    expect(sentBy(senders)).toBeGreaterThan(LIMIT / 4);
  });
});
