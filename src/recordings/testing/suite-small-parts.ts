/** Part of the suite of every storage: uploads in many small parts, as the pages of meetings send them, and writers that end at any point. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { newObjectId } from "../../access/keys/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { LeaseLost } from "../../store/contract/leases.ts";
import type { Place, Storage, WriterLease } from "../storage/storage.ts";

export interface SmallPartsUnderTest {
  readonly storage: Storage;
  read(place: Place): Promise<Uint8Array>;
  reopen(): Storage;
}

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const TINY_PARTS = IS_FULL ? 10_000 : 150;
const STEPS = IS_FULL ? 400 : 40;
/** Objects or files of an open upload. */
const ENTRIES_MAX = 100;
const SIZES = [1, 7, 60_000, 300_000, 500_000, 1_000_000, 3_000_000, 9_000_000] as const;

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function noise(size: number, seed: number): Uint8Array {
  const numbers = new Uint32Array(Math.ceil(size / 4));
  for (let i = 0; i < numbers.length; i++) numbers[i] = Math.imul(i + seed, 2654435761);
  return new Uint8Array(numbers.buffer, 0, size);
}

async function* inChunks(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

async function begin(storage: Storage): Promise<Place> {
  const [app, id] = [anAppId(newObjectId(Date.now())), newObjectId(Date.now())];
  return { app, id, locator: await storage.begin(app, id) };
}

const lease = (generation: number): WriterLease => ({ generation, confirm: async () => undefined });

/** A writer that ends before its `at`th write, as a process that is killed there. */
function dying(generation: number, at: number): WriterLease {
  let writes = 0;
  return {
    generation,
    confirm: async () => {
      if (writes++ >= at) throw new Error("killed");
    },
  };
}

/** A writer that freezes before its `at`th write; then it does that one, and finds its lease lost. */
function freezing(generation: number, at: number) {
  const [frozen, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let writes = 0;
  const confirm = async (): Promise<void> => {
    const write = writes++;
    if (write > at) throw new LeaseLost();
    if (write < at) return;
    frozen.resolve();
    await resumed.promise;
  };
  return { lease: { generation, confirm }, frozen: frozen.promise, resume: resumed.resolve };
}

async function entries(storage: Storage, id: string): Promise<number> {
  let count = 0;
  for await (const { place } of storage.contents()) if (place.id === id) count++;
  return count;
}

/** An upload that is written to, and taken over, and what must become of it. */
class Written {
  held = 0;
  private generation = 0;
  private readonly wanted: Uint8Array[] = [];
  private readonly zombies: { readonly resume: () => void; readonly done: Promise<unknown> }[] = [];

  constructor(
    private place: Place,
    private readonly reopen: () => Storage,
  ) {}

  async append(size: number, seed: number): Promise<void> {
    const bytes = noise(size, seed);
    const storage = this.reopen();
    expect(await storage.storedBytes(this.place)).toBe(this.held);
    await storage.append(this.place, this.held, inChunks(bytes), lease(this.generation));
    this.keep(bytes, this.held + size);
  }

  /** What was stored of the part before the process ended counts. */
  async die(size: number, seed: number, at: number): Promise<void> {
    const bytes = noise(size, seed);
    await this.reopen()
      .append(this.place, this.held, inChunks(bytes), dying(this.generation, at))
      .catch(() => undefined);
    this.keep(bytes, await this.reopen().storedBytes(this.place));
  }

  /** A frozen writer is overtaken; it continues when the next one has written. */
  async overtake(size: number, seed: number, at: number): Promise<void> {
    const bytes = noise(size, seed);
    const { lease: theirs, frozen, resume } = freezing(this.generation, at);
    const done = this.reopen()
      .append(this.place, this.held, inChunks(bytes), theirs)
      .catch(() => undefined);
    await Promise.race([frozen, done]);
    const storage = this.reopen();
    const { locator, clear } = await storage.takeOver(this.place, ++this.generation, undefined);
    this.place = { ...this.place, locator };
    await clear();
    this.keep(bytes, await storage.storedBytes(this.place));
    this.zombies.push({ resume, done });
  }

  async wake(): Promise<void> {
    for (const { resume, done } of this.zombies.splice(0)) {
      resume();
      await done;
    }
    expect(await this.reopen().storedBytes(this.place)).toBe(this.held);
  }

  async finish(): Promise<{ place: Place; bytes: Uint8Array }> {
    await this.reopen().finish(this.place, this.held);
    return { place: this.place, bytes: Buffer.concat(this.wanted) };
  }

  private keep(bytes: Uint8Array, held: number): void {
    expect(held).toBeGreaterThanOrEqual(this.held);
    expect(held).toBeLessThanOrEqual(this.held + bytes.length);
    this.wanted.push(bytes.slice(0, held - this.held));
    this.held = held;
  }
}

export function smallPartsSuite(make: () => Promise<SmallPartsUnderTest>): void {
  test(`${TINY_PARTS} parts of a byte are one file, and few objects until then`, async () => {
    const { storage, read } = await make();
    const place = await begin(storage);
    const bytes = noise(TINY_PARTS, 3);
    for (let at = 0; at < TINY_PARTS; at++) {
      await storage.append(place, await storage.storedBytes(place), inChunks(bytes.subarray(at, at + 1)), lease(0));
      if (at % 50 === 0) expect(await entries(storage, place.id)).toBeLessThanOrEqual(ENTRIES_MAX);
    }
    expect(await entries(storage, place.id)).toBeLessThanOrEqual(ENTRIES_MAX);
    await storage.finish(place, TINY_PARTS);
    expect(hash(await read(place))).toBe(hash(bytes));
    expect(await entries(storage, place.id)).toBe(1);
    await storage.remove(place);
  }, 600_000);

  test.each(IS_FULL ? [1, 2, 3] : [1])(
    "parts of all sizes, with writers that are killed or overtaken at any point: nothing that was acknowledged is lost, seed %i",
    async (seed) => {
      const { storage, read, reopen } = await make();
      const written = new Written(await begin(storage), reopen);
      let state = seed * 7919;
      const random = (below: number): number => {
        state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
        return Math.floor((state / 0x80000000) * below);
      };
      const most = STEPS > 100 ? SIZES.length - 2 : SIZES.length;
      for (let step = 0; step < STEPS; step++) {
        const size = SIZES[random(most)] ?? 1;
        const kind = random(10);
        if (kind < 7) await written.append(size, step);
        else if (kind < 9) await written.die(size, step, random(8));
        else await written.overtake(size, step, random(8));
        if (random(5) === 0) await written.wake();
      }
      await written.wake();
      const { place, bytes } = await written.finish();
      expect(hash(await read(place))).toBe(hash(bytes));
      await storage.remove(place);
    },
    300_000,
  );
}
