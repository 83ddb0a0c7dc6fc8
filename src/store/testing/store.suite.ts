/** The suite of every store: each MUST of contract/, for the databases that `newPlace` creates. */
import { describe, expect, test } from "bun:test";
import { IS_FULL } from "../../../test/support/slack.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { AppRow, KeyRow, Store } from "../contract/store.ts";
import type { NewPlace, Place } from "./places.ts";
import { appRow, keyRow } from "./rows.ts";
import { amountsSuite } from "./suite-amounts.ts";
import { clearingSuite } from "./suite-clearing.ts";
import { heldMembersSuite } from "./suite-held-members.ts";
import { leasesSuite } from "./suite-leases.ts";
import { listingSuite } from "./suite-listing.ts";
import { lobbySuite } from "./suite-lobby.ts";
import { meetingEndsSuite } from "./suite-meeting-ends.ts";
import { meetingListsSuite } from "./suite-meeting-lists.ts";
import { meetingRecordingsSuite } from "./suite-meeting-recordings.ts";
import { operatorsSuite } from "./suite-operators.ts";
import { recordingExtrasSuite } from "./suite-recording-extras.ts";
import { recordingsSuite } from "./suite-recordings.ts";
import { roomsSuite } from "./suite-rooms.ts";
import { stayUploadsSuite } from "./suite-stay-uploads.ts";
import { staysSuite } from "./suite-stays.ts";
import { trackingSuite } from "./suite-tracking.ts";
import { webhookEventsSuite } from "./suite-webhook-events.ts";
import { webhookLogSuite } from "./suite-webhook-log.ts";
import { webhooksSuite } from "./suite-webhooks.ts";

const A = anAppId("a");
const B = anAppId("b");

/** Each in a group of its own: otherwise each would open a store before every test of the others. */
const PARTS: Readonly<Record<string, (newPlace: NewPlace) => void>> = {
  operators: operatorsSuite,
  rooms: roomsSuite,
  stays: staysSuite,
  "ends of meetings": meetingEndsSuite,
  "recordings of meetings": meetingRecordingsSuite,
  "lists of meetings": meetingListsSuite,
  lobby: lobbySuite,
  recordings: recordingsSuite,
  "extras of recordings": recordingExtrasSuite,
  "uploads of stays": stayUploadsSuite,
  "held members": heldMembersSuite,
  "what is removed for good": clearingSuite,
  amounts: amountsSuite,
  leases: leasesSuite,
  "lists of recordings": listingSuite,
  "tracked connections and members": trackingSuite,
  webhooks: webhooksSuite,
  "the log of webhooks": webhookLogSuite,
  "events of webhooks": webhookEventsSuite,
};

/** What takes long, and is tested on SQLite; of PostgreSQL's lists and webhooks, sql/recordings and sql/webhooks have more tests. */
const LONG: readonly string[] = ["lists of recordings", "the log of webhooks"];

/** `isSample`: without the longest parts, except in full runs. */
export function storeSuite(newPlace: NewPlace, { isSample = false } = {}): void {
  const filled = async (): Promise<{ store: Store; place: Place }> => {
    const place = await newPlace();
    const store = await place();
    await store.change(async (change) => {
      await change.putApp(app("a"));
      await change.putKey(key("k"));
      for (const seq of [1, 2])
        await change.putSecret({ keyId: "k", seq, sealed: "s", digest: "d", created: 1, ends: seq === 1 ? 5 : null });
    });
    return { store, place };
  };

  describe("rows", () => {
    test("are read as they were written, also after the store was reopened", async () => {
      const { store, place } = await filled();
      await store.close();
      const reopened = await place();
      expect(await reopened.app("a")).toEqual(app("a"));
      expect(await reopened.app("name-a")).toEqual(app("a"));
      expect(await reopened.key("k")).toEqual(key("k"));
      expect((await reopened.secrets("k")).map((secret) => [secret.seq, secret.ends])).toEqual([
        [2, null],
        [1, 5],
      ]);
      const snapshot = await reopened.snapshot();
      expect([snapshot.revision, snapshot.apps.length, snapshot.keys.length, snapshot.secrets.length]).toEqual([
        1, 1, 1, 2,
      ]);
      await reopened.close();
    });

    test("of applications keep the generation of the secret, and earlier secrets that still work", async () => {
      const { store } = await filled();
      const row = app("a", { secretSeq: 3, previousSecrets: [{ seq: 2, digest: "d", ends: 1_800_000_000_123 }] });
      await store.change((change) => change.putApp(row));
      expect(await store.app("a")).toEqual(row);
      expect((await store.snapshot()).apps).toEqual([row]);
      await store.close();
    });

    test("of keys keep whether they give TURN credentials, which a change can switch on", async () => {
      const { store } = await filled();
      await store.change((change) => change.putKey(key("k", { turn: true })));
      expect((await store.snapshot()).keys.find(({ id }) => id === "k")?.turn).toBe(true);
      await store.change((change) => change.putKey(key("k", { turn: false })));
      expect((await store.key("k"))?.turn).toBe(false);
      await store.close();
    });

    test("are found by id before name", async () => {
      const { store } = await filled();
      await store.change(async (change) => change.putApp(app("b", { name: "a" })));
      expect((await store.app("a"))?.id).toBe(A);
      await store.close();
    });

    test("revoked keys are in the snapshot with their application, the last first, while that exists", async () => {
      const { store } = await filled();
      await store.change(async (change) => {
        await change.putApp(app("b"));
        for (const [id, revoked] of [
          ["first", 7],
          ["last", 9],
        ] as const)
          await change.putKey(key(id, { revoked }));
        await change.putKey(key("other", { app: anAppId("b"), revoked: 8 }));
      });
      const of = async (): Promise<unknown> => (await store.snapshot()).revokedKeys;
      const [first, last] = [
        { id: "first", app: A },
        { id: "last", app: A },
      ];
      expect(await of()).toEqual([last, { id: "other", app: anAppId("b") }, first]);
      await store.change((change) => change.putApp(app("b", { deleted: 10 })));
      expect(await of()).toEqual([last, first]);
      await store.close();
    });

    test("of deleted applications and revoked keys are not in the snapshot, and the name can be reused", async () => {
      const { store } = await filled();
      await store.change(async (change) => {
        await change.putKey(key("k", { revoked: 9 }));
        await change.putApp(app("a", { deleted: 9 }));
        await change.putApp(app("c", { name: "name-a" }));
      });
      const snapshot = await store.snapshot();
      expect([snapshot.apps.map((row) => row.id), snapshot.keys, snapshot.secrets]).toEqual([[anAppId("c")], [], []]);
      expect(await store.keys(A)).toEqual([key("k", { revoked: 9 })]);
      await store.close();
    });
  });

  describe("changes", () => {
    test("that throw change nothing, not even the revision", async () => {
      const { store } = await filled();
      const failing = store.change(async (change) => {
        await change.putApp(app("x"));
        throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
      expect(await store.app("x")).toBeUndefined();
      expect((await store.snapshot()).revision).toBe(1);
      await store.close();
    });

    test("run one after the other, each raises the revision, and its callback runs before the next begins", async () => {
      const { store } = await filled();
      const seen: string[] = [];
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          store.change(
            async (change) => {
              seen.push(`begin ${i}`);
              await change.putMeta("last", String(i));
            },
            (_result, revision) => seen.push(`shown ${revision - 2}`),
          ),
        ),
      );
      expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => [`begin ${i}`, `shown ${i}`]).flat());
      expect(await store.meta("last")).toBe("19");
      await store.close();
    });
  });

  describe("usage and blocks", () => {
    test("usage is summed by application and period, and the highest peak is kept", async () => {
      const { store } = await filled();
      const row = { app: A, period: 1_800_000_000, messages: 3, guestMessages: 2, peakConnections: 5 };
      const write = { writer: "w", seq: 1, atMs: 1 };
      await store.addUsage([row, { ...row, app: B }, { ...row, period: 7 }], write);
      const large = { ...row, messages: 9_007_199_254_740_000, guestMessages: 4, peakConnections: 4 };
      await store.addUsage([large], { ...write, seq: 2 });
      const rows = await store.usage(row.period);
      expect(rows.toSorted((one, other) => (one.app < other.app ? -1 : 1))).toEqual([
        { ...row, messages: 9_007_199_254_740_003, guestMessages: 6 },
        { ...row, app: B },
      ]);
      const periodsFrom = async (from: number): Promise<number[]> =>
        (await store.usageOf(A, from)).map(({ period }) => period);
      expect(await periodsFrom(0)).toEqual([row.period, 7]);
      expect(await periodsFrom(8)).toEqual([row.period]);
      expect(await store.usageOf(anAppId("nothing"), 0)).toEqual([]);
      await store.close();
    });

    test("usage that is written again is not added again, also after the store was reopened", async () => {
      const { store, place } = await filled();
      const row = { app: A, period: 7, messages: 3, guestMessages: 2, peakConnections: 5 };
      const write = { writer: "w", seq: 1, atMs: 1_800_000_000_123 };
      for (let i = 0; i < 2; i++) await store.addUsage([row], write);
      expect(await store.usage(7)).toEqual([row]);
      await store.close();
      const reopened = await place();
      await reopened.addUsage([row], write);
      expect(await reopened.usage(7)).toEqual([row]);
      // An attempt that comes late, behind the next write.
      for (const seq of [2, 1, 2]) await reopened.addUsage([row], { ...write, seq });
      expect((await reopened.usage(7))[0]?.messages).toBe(6);
      await reopened.addUsage([row], { ...write, writer: "other" });
      expect((await reopened.usage(7))[0]?.messages).toBe(9);
      await reopened.close();
    });

    test("writers that have written no usage for a week are forgotten when another one begins", async () => {
      const { store } = await filled();
      const row = { app: A, period: 7, messages: 1, guestMessages: 0, peakConnections: 0 };
      const day = 86_400_000;
      const adds = async (writer: string, seq: number, atMs: number): Promise<boolean> => {
        const messages = async (): Promise<number> => (await store.usage(7))[0]?.messages ?? 0;
        const before = await messages();
        await store.addUsage([row], { writer, seq, atMs });
        return (await messages()) > before;
      };
      expect([await adds("ended", 1, 0), await adds("recent", 1, 2 * day)]).toEqual([true, true]);
      expect([await adds("new", 1, 8 * day), await adds("recent", 1, 8 * day)]).toEqual([true, false]);
      // Nothing is left to recognise it by.
      expect([await adds("ended", 1, 8 * day), await adds("ended", 1, 8 * day)]).toEqual([true, false]);
      await store.close();
    });

    test("usage that fails in the middle is not taken for written when it is repeated", async () => {
      const { store } = await filled();
      const row = { app: A, period: 7, messages: 3, guestMessages: 2, peakConnections: 5 };
      const write = { writer: "w", seq: 1, atMs: 1 };
      const wrong = { ...row, app: B, messages: null as unknown as number };
      await expect(store.addUsage([row, wrong], write)).rejects.toBeInstanceOf(Error);
      await store.addUsage([row], write);
      expect(await store.usage(7)).toEqual([row]);
      await store.close();
    });

    test("ended blocks are removed; each new block raises the revision of blocks and no other", async () => {
      const { store } = await filled();
      const before = await store.revisions();
      await store.putBlock({ app: A, peerId: "old", untilMs: 1000 }, 1);
      await store.putBlock({ app: A, peerId: "ann", untilMs: 2000 }, 1);
      await store.putBlock({ app: A, peerId: "ann", untilMs: 1_800_000_000_123 }, 1500);
      expect(await store.blocks(0)).toEqual([{ app: A, peerId: "ann", untilMs: 1_800_000_000_123 }]);
      expect(await store.revisions()).toEqual({ ...before, blocks: before.blocks + 3 });
      await store.close();
    });

    test("a block is removed for one peer of one application, and raises the revision of blocks", async () => {
      const { store } = await filled();
      const rows = [
        { app: A, peerId: "ann", untilMs: 2000 },
        { app: A, peerId: "ben", untilMs: 2000 },
        { app: B, peerId: "ann", untilMs: 2000 },
      ];
      for (const row of rows) await store.putBlock(row, 1);
      const before = await store.revisions();
      expect(await store.removeBlock(A, "ann", 1)).toBe(true);
      expect(await store.blocks(0)).toEqual(rows.slice(1));
      expect((await store.revisions()).blocks).toBeGreaterThan(before.blocks);
      expect([await store.removeBlock(A, "ann", 1), await store.removeBlock(A, "ben", 2000)]).toEqual([false, false]);
      await store.close();
    });
  });

  test("a test write can be repeated, and changes nothing else", async () => {
    const { store } = await filled();
    const before = await store.snapshot();
    for (let i = 0; i < 3; i++) await store.tryWrite();
    expect(await store.snapshot()).toEqual(before);
    await store.close();
  });

  for (const [part, suite] of Object.entries(PARTS))
    if (IS_FULL || !isSample || !LONG.includes(part)) describe(part, () => suite(newPlace));
}

const app = (id: string, fields: Partial<AppRow> = {}): AppRow =>
  appRow(id, {
    maxMessagesPerPeriod: Number.MAX_SAFE_INTEGER,
    allowedFrameOrigins: ["https://a.example", "https://*.b.example"],
    meetingRetentionDays: 3650,
    ...fields,
  });

const key = (id: string, fields: Partial<KeyRow> = {}): KeyRow =>
  keyRow(id, { channelPatterns: ["chat/*", "ü'\"\\\\"], actions: ["publish"], ...fields });
