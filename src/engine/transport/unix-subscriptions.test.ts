/** Which of the other workers are known to have read of a subscription, and what they report to the subscriber. */
import { afterEach, expect, test } from "bun:test";
import { nextTurn, until } from "../../../test/support/wait.ts";
import { UnixFolder } from "../testing/unix-folder.ts";
import type { UnixTransport } from "./unix.ts";

const WAIT_MS = 40_000;

let folder: UnixFolder;
afterEach(() => folder.remove());

/** Workers in the slots 0, 1 and 2; each is subscribed to its own subject. */
async function workers(): Promise<[UnixTransport, UnixTransport, UnixTransport]> {
  folder = new UnixFolder();
  const joined: [UnixTransport, UnixTransport, UnixTransport] = [
    await folder.join(),
    await folder.join(),
    await folder.join(),
  ];
  for (const [slot, transport] of joined.entries()) transport.subscribe(`worker.${slot}`, () => undefined);
  for (const transport of joined) await transport.flush();
  return joined;
}

test("a subscription is known to each worker once that worker has read of it", async () => {
  const [, , last] = await workers();
  folder.relay(0).isStalled = true;
  const subscription = last.subscribe("s", () => undefined, true);
  const known = (): boolean[] => [0, 1, 3].map((slot) => subscription.isKnownTo?.(`worker.${slot}`) ?? false);
  expect(known()).toEqual([false, false, false]);
  await until("the worker that reads knows of it", () => known()[1] === true, WAIT_MS);
  expect(known()).toEqual([false, true, false]);
  folder.relay(0).release();
  await until("the other one knows of it too", () => known()[0] === true, WAIT_MS);
});

test("one that was read says nothing of a later one", async () => {
  const [, , last] = await workers();
  const first = last.subscribe("s", () => undefined, true);
  await until("it is known", () => first.isKnownTo?.("worker.0") === true, WAIT_MS);
  folder.relay(0).isStalled = true;
  const second = last.subscribe("t", () => undefined, true);
  await nextTurn();
  expect([first, second].map((one) => one.isKnownTo?.("worker.0"))).toEqual([true, false]);
});

test("after a lost connection it is known again once the new one has carried it", async () => {
  const [, , last] = await workers();
  const subscription = last.subscribe("s", () => undefined, true);
  await until("it is known", () => subscription.isKnownTo?.("worker.0") === true, WAIT_MS);
  folder.startOutage();
  await until("the loss is noticed", () => subscription.isKnownTo?.("worker.0") === false, WAIT_MS);
  folder.endOutage();
  await until("it is known again", () => subscription.isKnownTo?.("worker.0") === true, WAIT_MS);
});

/** Makes a worker report `what` to each subscriber. */
function reporter(transport: UnixTransport, what: string | undefined): void {
  transport.on({
    down: () => undefined,
    up: () => undefined,
    noResponders: () => undefined,
    receiverFailed: () => undefined,
    failed: () => undefined,
    subscribed: (subject, report) => what !== undefined && report(`${subject}: ${what}`),
  });
}

test("a subscriber reads what each worker reports before what it publishes later", async () => {
  const [first, second, last] = await workers();
  reporter(first, "known");
  reporter(second, undefined);
  const read: string[] = [];
  const subscription = last.subscribe("s", (payload) => read.push(new TextDecoder().decode(payload)), true);
  const hasReportFrom = (slot: number): boolean => subscription.hasReportFrom?.(`worker.${slot}`) === true;
  expect(hasReportFrom(0)).toBeFalse();
  await until("the first worker knows the subscription", () => first.hasSubscriber("s"), WAIT_MS);
  first.publish("s", "later");
  await until("both have reported", () => hasReportFrom(0) && hasReportFrom(1), WAIT_MS);
  await first.flush();
  expect(read).toEqual(["s: known", "later"]);
});

test("a long report arrives whole", async () => {
  const [first, , last] = await workers();
  const long = "ü".repeat(20_000);
  reporter(first, long);
  const read: string[] = [];
  const subscription = last.subscribe("s", (payload) => read.push(new TextDecoder().decode(payload)), true);
  await until("it is reported", () => subscription.hasReportFrom?.("worker.0") === true, WAIT_MS);
  expect(read).toEqual([`s: ${long}`]);
});

test("a worker that does not read has reported nothing; once it reads, it reports", async () => {
  const [first, , last] = await workers();
  reporter(first, "known");
  folder.relay(0).isStalled = true;
  const read: string[] = [];
  const subscription = last.subscribe("s", (payload) => read.push(new TextDecoder().decode(payload)), true);
  await until("the other one has reported", () => subscription.hasReportFrom?.("worker.1") === true, WAIT_MS);
  expect([subscription.hasReportFrom?.("worker.0"), read]).toEqual([false, []]);
  folder.relay(0).release();
  await until("it has reported, too", () => subscription.hasReportFrom?.("worker.0") === true, WAIT_MS);
  expect(read).toEqual(["s: known"]);
});

test("what is announced again on a new connection has no report, a later subscription has", async () => {
  const [first, , last] = await workers();
  reporter(first, "known");
  const read: string[] = [];
  const before = last.subscribe("s", (payload) => read.push(new TextDecoder().decode(payload)), true);
  await until("it is reported", () => before.hasReportFrom?.("worker.0") === true, WAIT_MS);
  folder.startOutage();
  await until("the loss is noticed", () => before.isKnownTo?.("worker.0") === false, WAIT_MS);
  folder.endOutage();
  await until("it is known again", () => before.isKnownTo?.("worker.0") === true, WAIT_MS);
  expect([before.hasReportFrom?.("worker.0"), read]).toEqual([false, ["s: known"]]);
  const after = last.subscribe("t", (payload) => read.push(new TextDecoder().decode(payload)), true);
  await until("it is reported", () => after.hasReportFrom?.("worker.0") === true, WAIT_MS);
  expect(read).toEqual(["s: known", "t: known"]);
});
