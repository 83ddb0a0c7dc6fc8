/** Part of the suite of every store: what nodes write of connections and members, and the events that are derived from it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import type { DeriveOptions, OpenedConnection, TrackedChanges } from "../contract/tracking.ts";
import type { WebhookEventType, WebhookLease } from "../contract/webhooks.ts";
import { type NewPlace, withApps } from "./places.ts";

const A = anAppId("a");
const TYPES: readonly WebhookEventType[] = [
  "connection.opened",
  "connection.closed",
  "channel.occupied",
  "channel.vacated",
  "peer.joined",
  "peer.left",
];
const OPTIONS: DeriveOptions = { limit: 100, silentMs: null, vacatedMs: 0, asked: [[A, TYPES]] };
const NOTHING: TrackedChanges = { isKnown: false, opened: [], closed: [], members: [], left: [] };

const connection = (id: string): OpenedConnection => ({
  id,
  app: A,
  peerId: `p-${id}`,
  keyId: "k",
  metadataJson: null,
  opened: 1_800_000_000_000,
});
const member = (peerId: string, channel = "c") => ({ app: A, channel, peerId, metadataJson: '{"n":1}', since: 1 });
const left = (peerId: string, afterMs = 0, channel = "c") => ({ app: A, channel, peerId, afterMs });
const closed = (id: string) => ({ id, closed: 1_800_000_005_000, code: 1000, reason: "bye" });

export function trackingSuite(newPlace: NewPlace): void {
  describe("tracked connections and members", () => {
    let store: Store;
    let lease: WebhookLease;
    beforeAll(async () => {
      store = await withApps(await newPlace());
      await store.change((change) =>
        change.putWebhook({
          id: "w",
          app: A,
          kind: "control",
          url: "https://example.com",
          events: ["*"],
          channelPatterns: ["**"],
          description: null,
          headerNames: [],
          headersSealed: null,
          created: 1,
          disabled: null,
          disabledWhy: null,
        }),
      );
      const taken = await store.webhooks.takeLease("me");
      if (!taken) throw new Error("no lease");
      lease = taken;
    });
    afterAll(() => store.close());

    const write = (node: string, changes: Partial<TrackedChanges>) =>
      store.tracking.write(node, { ...NOTHING, ...changes });
    /** What was derived since the last call, as short texts. */
    const derived = async (options: Partial<DeriveOptions> = {}): Promise<string[]> => {
      for (;;) {
        const answer = await store.tracking.derive(lease, { ...OPTIONS, ...options });
        if (answer === "lost") throw new Error("lost");
        if (!answer.more) break;
      }
      return said();
    };
    const said = async (): Promise<string[]> => {
      const events = await store.webhooks.events(1000);
      await store.webhooks.enter(
        lease,
        [],
        events.map(({ id }) => id),
        { backlogMax: 10 },
      );
      return events.map(({ fact }) => {
        if (fact.type === "connection.opened") return `${fact.type} ${fact.connectionId}`;
        if (fact.type === "connection.closed") return `${fact.type} ${fact.connectionId} ${fact.code} ${fact.reason}`;
        if (fact.type === "peer.joined" || fact.type === "peer.left")
          return `${fact.type} ${fact.channel} ${fact.peerId} ${fact.metadataJson}`;
        if (fact.type === "channel.occupied" || fact.type === "channel.vacated") return `${fact.type} ${fact.channel}`;
        return fact.type;
      });
    };
    const begin = async (node: string): Promise<void> => store.tracking.begin(node);

    test("make an event when they come and when they go, each once", async () => {
      await begin("n1");
      expect(await write("n1", { opened: [connection("1"), connection("2")], members: [member("ann")] })).toBe(
        "written",
      );
      expect(await derived()).toEqual([
        "connection.opened 1",
        "connection.opened 2",
        "channel.occupied c",
        'peer.joined c ann {"n":1}',
      ]);
      expect(await derived()).toEqual([]);
      expect(await store.tracking.count(A)).toBe(3);
      await write("n1", { closed: [closed("1"), closed("none")], members: [member("ben")], left: [left("ann")] });
      expect(await derived()).toEqual([
        "connection.closed 1 1000 bye",
        'peer.joined c ben {"n":1}',
        'peer.left c ann {"n":1}',
      ]);
      await write("n1", { opened: [connection("3")], closed: [closed("2"), closed("3")], left: [left("ben")] });
      expect(await derived()).toEqual([
        "connection.closed 2 1000 bye",
        "connection.opened 3",
        "connection.closed 3 1000 bye",
        'peer.left c ben {"n":1}',
        "channel.vacated c",
      ]);
      expect(await store.tracking.count(A)).toBe(0);
    });

    test("are closed with whatever reason a client has given", async () => {
      await begin("odd");
      await write("odd", { opened: [connection("odd")] });
      await derived();
      // PostgreSQL stores no U+0000: the node would write the same again forever, and nothing else.
      await write("odd", { closed: [{ ...closed("odd"), reason: "a\0b" }] });
      expect(await derived()).toEqual(["connection.closed odd 1000 a\uFFFDb"]);
      await store.tracking.leave("odd");
      await derived();
    });

    test("on several nodes count as one member, and a member that moves has not left", async () => {
      await begin("n2");
      await write("n1", { members: [member("cat")] });
      await write("n2", { members: [member("cat")] });
      expect(await derived()).toEqual(["channel.occupied c", 'peer.joined c cat {"n":1}']);
      await write("n1", { left: [left("cat")] });
      expect(await derived()).toEqual([]);
      await write("n2", { left: [left("cat", 60_000)] });
      expect(await derived()).toEqual([]);
      await write("n1", { members: [member("cat")] });
      expect(await derived()).toEqual([]);
      // What was left of it on the other node does not keep it any more.
      await write("n1", { left: [left("cat")] });
      expect(await derived()).toEqual(['peer.left c cat {"n":1}', "channel.vacated c"]);
    });

    test("that are gone are back when they come again, as long as that was not said", async () => {
      await write("n1", { members: [member("dan")] });
      await derived();
      await write("n1", { left: [left("dan", 60_000)] });
      await write("n1", { members: [member("dan")] });
      await write("n2", { members: [member("eve")], left: [left("eve")] });
      expect(await derived({ vacatedMs: 60_000 })).toEqual([]);
      await write("n1", { left: [left("dan")] });
      expect(await derived({ vacatedMs: 60_000 })).toEqual(['peer.left c dan {"n":1}']);
      // Vacated is held, and dropped if someone comes back.
      await write("n2", { members: [member("eve")] });
      expect(await derived()).toEqual(['peer.joined c eve {"n":1}']);
      await write("n2", { left: [left("eve")] });
      expect(await derived()).toEqual(['peer.left c eve {"n":1}', "channel.vacated c"]);
    });

    test("that were there before anyone asked make no events until they end", async () => {
      await write("n1", { isKnown: true, opened: [connection("4")], members: [member("fay", "old")] });
      await write("n2", { isKnown: true, members: [member("fay", "old")] });
      expect(await derived()).toEqual([]);
      await write("n1", { closed: [closed("4")], left: [left("fay", 0, "old")] });
      await write("n2", { left: [left("fay", 0, "old")] });
      expect(await derived()).toEqual([
        "connection.closed 4 1000 bye",
        'peer.left old fay {"n":1}',
        "channel.vacated old",
      ]);
    });

    test("of a node that stops are closed, except those of members that are expected back", async () => {
      await begin("n3");
      await write("n3", { opened: [connection("5")], members: [member("gil"), member("hal")] });
      await derived();
      await write("n3", { left: [left("hal", 60_000)] });
      await store.tracking.leave("n3");
      expect(await derived()).toEqual([
        "connection.closed 5 null the node of this connection has stopped",
        'peer.left c gil {"n":1}',
      ]);
      expect(await write("n3", { opened: [connection("6")] })).toBe("gone");
      expect(await store.tracking.beat("n3")).toBe("gone");
      await write("n1", { members: [member("hal")] });
      expect(await derived()).toEqual([]);
      await write("n1", { left: [left("hal")] });
      expect(await derived()).toEqual(['peer.left c hal {"n":1}', "channel.vacated c"]);
    });

    test("of a node that is silent are closed, and said again when it writes them under another name", async () => {
      await begin("n4");
      await write("n4", { opened: [connection("7")], members: [member("ida")] });
      await derived();
      await begin("n5");
      // Not silent: none of them is older than that.
      expect(await derived({ silentMs: 60_000 })).toEqual([]);
      expect(await derived({ silentMs: -1 })).toEqual([
        "connection.closed 7 null the node of this connection has stopped",
        'peer.left c ida {"n":1}',
        "channel.vacated c",
      ]);
      expect(await store.tracking.beat("n4")).toBe("gone");
      expect(await store.tracking.beat("n5")).toBe("gone");
      await begin("n6");
      expect(await store.tracking.beat("n6")).toBe("beaten");
      await write("n6", { opened: [connection("7")], members: [member("ida")] });
      expect(await derived()).toEqual(["connection.opened 7", "channel.occupied c", 'peer.joined c ida {"n":1}']);
      // A node that writes all of its rows again before it gives up its earlier name makes no events.
      await begin("n7");
      await write("n7", { opened: [connection("7")], members: [member("ida")] });
      await store.tracking.leave("n6");
      expect(await derived()).toEqual([]);
      await store.tracking.leave("n7");
      expect(await derived()).toHaveLength(3);
    });

    test("are read some at a time, and only what is asked for is said", async () => {
      await begin("n8");
      const ids = Array.from({ length: 25 }, (_, i) => `m${i}`);
      await write("n8", { opened: ids.map(connection), members: ids.map((id) => member(id, `c-${id}`)) });
      const first = await store.tracking.derive(lease, { ...OPTIONS, limit: 10, asked: [[A, ["peer.joined"]]] });
      expect(first).toEqual({ events: 10, more: true });
      expect((await derived({ limit: 10, asked: [[A, ["peer.joined"]]] })).length).toBe(25);
      await store.tracking.leave("n8");
      expect((await derived({ limit: 10, asked: [] })).length).toBe(0);
      expect(await store.tracking.count(A)).toBe(0);
    });

    test("are forgotten without events when no one asks any more; what was said of them is corrected when someone asks again", async () => {
      await begin("n9");
      const ids = ["1", "2", "3"];
      await write("n9", { opened: ids.map((id) => connection(`f${id}`)), members: ids.map((id) => member(id)) });
      await derived();
      expect(await store.tracking.trackedApps()).toEqual([A]);
      expect(await store.tracking.forgetRows(A, "connections", 2)).toBe(true);
      expect(await store.tracking.forgetRows(A, "connections", 2)).toBe(false);
      await store.tracking.clear("n9", A, "members");
      expect(await derived()).toEqual([]);
      expect(await store.tracking.reconcile(lease, A, OPTIONS)).toEqual({ events: 3, more: false });
      expect((await derived()).length).toBe(4);
      await write("n9", { members: ids.map((id) => member(id)) });
      await derived();
      while (await store.tracking.forgetRows(A, "members", 2));
      expect(await store.tracking.trackedApps()).toEqual([]);
      expect(await derived()).toEqual([]);
      await store.tracking.leave("n9");
      await derived();
    });

    test("change nothing for a holder that another one has followed", async () => {
      await begin("n10");
      await write("n10", { opened: [connection("8")] });
      expect(await store.tracking.derive({ ...lease, number: lease.number - 1 }, OPTIONS)).toBe("lost");
      expect(await store.tracking.reconcile({ ...lease, holder: "other" }, A, OPTIONS)).toBe("lost");
      expect(await said()).toEqual([]);
      expect(await derived()).toEqual(["connection.opened 8"]);
    });

    test("a quota is said once per period and kind", async () => {
      const reached = (kind: "messages" | "connections", period: number) =>
        store.tracking.quotaReached(A, kind, 10, period, 5);
      expect([await reached("messages", 1), await reached("messages", 1), await reached("connections", 1)]).toEqual([
        true,
        false,
        true,
      ]);
      expect(await reached("messages", 2)).toBe(true);
      expect(await said()).toEqual(["quota.reached", "quota.reached", "quota.reached"]);
    });
  });
}
