/** Webhooks where several processes share PostgreSQL: one order of events, one holder, and no two that wait for each other without end. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Store } from "../../contract/store.ts";
import { openStore } from "../../open.ts";
import { entering, inside } from "../../testing/meetings.ts";
import { withApps } from "../../testing/places.ts";
import { PostgresServer } from "../../testing/postgres.ts";
import { databaseOf } from "../../testing/recordings.ts";
import { aFailure, aMessage, anOutcome, leaseOf, quotaEvent, typesOf, withWebhooks } from "../../testing/webhooks.ts";

setDefaultTimeout(120_000);

const A = anAppId("a");
let server: PostgresServer;
let stores: Store[] = [];

beforeAll(async () => {
  server = await PostgresServer.start();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});
afterAll(() => server.stop());

/** Several processes with the application `a`, and an endpoint `w1`. */
async function opened(count: number): Promise<Store[]> {
  const url = await server.newDatabase();
  const first = await withApps(() => openStore("", url));
  await withWebhooks(first, "w1");
  stores = [first];
  while (stores.length < count) stores.push(await openStore("", url));
  return stores;
}

test("events of a room are in the order of its changes, whichever process makes them", async () => {
  const nodes = await opened(3);
  await Promise.all(
    Array.from({ length: 45 }, async (_, at) => {
      const { meetings } = nodes[at % nodes.length] as Store;
      const { meeting } = inside(await meetings.enter(entering(`p${at}`, "r1"), 99, 1000 + at));
      await meetings.end(`p${at}`, "left", 2000 - at);
      if (at % 5 === 0) await meetings.endMeeting(meeting.id);
    }),
  );
  const events = await (nodes[0] as Store).webhooks.events(1000);
  let [isRunning, present] = [false, 0];
  for (const type of typesOf(events)) {
    if (type === "meeting.started" || type === "meeting.ended") {
      expect([type, isRunning, present]).toEqual([type, type === "meeting.ended", 0]);
      isRunning = type === "meeting.started";
    } else present += type === "participant.joined" ? 1 : -1;
    expect(isRunning || present === 0).toBe(true);
    expect(present).toBeGreaterThanOrEqual(0);
  }
  expect([present, events.filter(({ fact }) => fact.type === "participant.left").length]).toEqual([0, 45]);
});

test("when another process takes over in the middle, every number is given once", async () => {
  const [one, other] = (await opened(2)) as [Store, Store];
  const first = await leaseOf(one, "one");
  const enterAll = (store: Store, lease: typeof first) =>
    Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        store.webhooks.enter(lease, [aMessage(`s${at}`), aMessage(`s${at}`)], [], { backlogMax: 1000 }),
      ),
    );
  const byFirst = enterAll(one, first);
  await databaseOf(other).run((sql) => sql`UPDATE webhook_lease SET until = 1`);
  const second = await leaseOf(other, "other");
  const [before, after] = await Promise.all([byFirst, enterAll(other, second)]);
  expect(await one.webhooks.enter(first, [aMessage("s")], [], { backlogMax: 1000 })).toBe("lost");
  const entered = [...before, ...after].filter((outcome) => outcome !== "lost").length * 2;
  expect(after).not.toContain("lost");
  const [state] = await one.webhooks.states(["w1"]);
  expect([state?.lastSeq, state?.backlog]).toEqual([entered, entered]);
  // The first message of each subject may go, and no other.
  expect((await one.webhooks.due("w1", 0, 1000, [])).length).toBe(20);
});

test("calls of several processes at once do not wait for each other without end", async () => {
  const nodes = await opened(3);
  const [holder, ...others] = nodes as [Store, ...Store[]];
  const lease = await leaseOf(holder);
  const failures: unknown[] = [];
  let seq = 0;
  const rounds = async (work: (at: number) => Promise<unknown>): Promise<void> => {
    for (let at = 0; at < 15; at++) await work(at).catch((error: unknown) => failures.push(error));
  };
  await Promise.all([
    rounds(async (at) => {
      const messages = Array.from({ length: 20 }, (_, one) =>
        aMessage(`s${(at + one) % 7}`, { isLossy: one % 2 === 0 }),
      );
      await holder.webhooks.enter(lease, messages, [], { backlogMax: 60 });
    }),
    rounds(async () => {
      const due = await holder.webhooks.due("w1", 9000, 10, []);
      const outcome = ({ seq, subject }: { seq: number; subject: string }) =>
        seq % 3 === 0 ? aFailure(seq, subject) : anOutcome(seq, subject);
      await holder.webhooks.settle(lease, due.map(outcome).toReversed());
    }),
    ...others.flatMap(({ webhooks, rooms }, of) => [
      rounds(() => webhooks.resend("w1", ++seq, 5)),
      rounds(() => webhooks.replay("w1", 0, 6)),
      rounds(() => webhooks.trim("w1", 1e15)),
      rounds((at) => webhooks.addEvents([quotaEvent(`q${at}`)])),
      rounds((at) =>
        rooms.addRoom({
          id: `room-${of}-${at}`,
          app: A,
          name: `${of}-${at}`,
          fields: { meetingEndedWebhook: "https://example.com" },
          created: 1,
          archiveAt: 5,
          version: 1,
        }),
      ),
      rounds(() => rooms.archiveDue(10, 10)),
    ]),
    rounds((at) => holder.change((change) => change.addWebhookEvent(quotaEvent(`k${at}`)))),
  ]);
  expect(failures).toEqual([]);
  const [state] = await holder.webhooks.states(["w1"]);
  const rows: { n: number | string }[] = await databaseOf(holder).run(
    (sql) => sql`SELECT COUNT(*) AS n FROM webhook_messages WHERE webhook = 'w1' AND state = 'waiting'`,
  );
  expect([state?.lastSeq, state?.backlog]).toEqual([300, Number(rows[0]?.n)]);
});
