/** Budgets of bytes, while several bodies come in at the same time. */
import { afterEach, expect, test } from "bun:test";
import { type Kit, type KitOptions, makeKit } from "../testing/kit.ts";

const MIB = 1024 * 1024;

const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0).reverse()) await kit.close();
});

async function newKit(maxRecordingBytesTotal: number, options?: KitOptions): Promise<Kit> {
  const kit = await makeKit(options);
  kits.push(kit);
  await kit.store.change(async (change) => {
    const app = await change.app(kit.app);
    if (app) await change.putApp({ ...app, maxRecordingBytesTotal });
  });
  return kit;
}

/** A body that the test sends piece by piece. */
class Sending {
  readonly outcome: Promise<number | { readonly code: string }>;
  private readonly pulled: PromiseWithResolvers<void>[] = [Promise.withResolvers<void>()];
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(kit: Kit, id: string, length: number | undefined) {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.pulled.at(-1)?.resolve(),
      },
      { highWaterMark: 0 },
    );
    this.outcome = kit.uploads.write(kit.app, id, { range: undefined, length, body }).catch((error) => error);
  }

  /** Resolves when the service has taken it and asks for more, or has answered. */
  async piece(bytes: number): Promise<void> {
    await Promise.race([this.pulled.at(-1)?.promise, this.outcome]);
    this.pulled.push(Promise.withResolvers<void>());
    try {
      this.controller?.enqueue(new Uint8Array(bytes));
    } catch {
      // It was refused, and nothing more is read.
    }
    await Promise.race([this.pulled.at(-1)?.promise, this.outcome]);
  }

  async end(): Promise<number | { readonly code: string }> {
    try {
      this.controller?.close();
    } catch {
      // As above.
    }
    return this.outcome;
  }
}

const uploading = async (kit: Kit): Promise<number> => (await kit.recordings.stored(kit.app)).uploading;

test.each(["the application", "the stay"])(
  "bodies without a length that come in at the same time have the budget of %s together",
  async (whose) => {
    const isStay = whose === "the stay";
    const kit = await newKit(isStay ? 1e9 : MIB, { stayBytesMax: MIB });
    const ids = isStay
      ? [await kit.beginOfStay("s1"), await kit.beginOfStay("s1")]
      : [await kit.begin(), await kit.begin(), await kit.begin()];
    const bodies = ids.map((id) => new Sending(kit, id, undefined));
    for (let sent = 0; sent < MIB; sent += MIB / 4) for (const body of bodies) await body.piece(MIB / 4);
    const outcomes = await Promise.all(bodies.map((body) => body.end()));
    expect(outcomes).toContainEqual(expect.objectContaining({ code: "insufficient_storage" }));
    expect(await uploading(kit)).toBeLessThanOrEqual(MIB);
    expect(await uploading(kit)).toBeGreaterThan(MIB / 2);
  },
);

test("a body with a length counts from its beginning, and no longer than it comes", async () => {
  const kit = await newKit(1000);
  const [one, other] = [await kit.begin(), await kit.begin()];
  const body = new Sending(kit, one, 700);
  await body.piece(100);
  await expect(kit.part(other, 0, new Uint8Array(400))).rejects.toMatchObject({ code: "insufficient_storage" });
  expect(await kit.part(other, 0, new Uint8Array(300))).toBe(300);
  // The client has gone away.
  expect(await body.end()).toMatchObject({ code: "invalid_request" });
  expect(await kit.part(other, 300, new Uint8Array(500))).toBe(800);
});

test("bodies that come to two nodes count at both, each 16 MiB", async () => {
  const kit = await newKit(20 * MIB);
  const node = await newKit(20 * MIB, { store: kit.store, app: kit.app });
  const [one, other] = [await kit.begin(), await node.begin()];
  const body = new Sending(kit, one, 19 * MIB);
  for (let sent = 0; sent < 17; sent++) await body.piece(MIB);
  expect(await uploading(node)).toBe(16 * MIB);
  const part = node.part(other, 0, new Uint8Array(5 * MIB));
  await expect(part).rejects.toMatchObject({ code: "insufficient_storage" });
  await body.end();
});

test("a body that goes on is refused when another node has used the room meanwhile; what came is kept", async () => {
  const kit = await newKit(20 * MIB);
  const [one, other] = [await kit.begin(), await kit.begin()];
  const body = new Sending(kit, one, 19 * MIB);
  await body.piece(MIB);
  await kit.store.recordings.noteBytes(other, 0, 10 * MIB, Date.now());
  for (let sent = 1; sent < 18; sent++) await body.piece(MIB);
  expect(await body.outcome).toMatchObject({ code: "insufficient_storage" });
  expect(await uploading(kit)).toBe(26 * MIB);
});
