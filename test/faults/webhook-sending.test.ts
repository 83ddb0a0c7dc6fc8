/**
 * Webhooks while the process that sends is killed and the receiver fails now and then: a checker judges that every event arrives at least once, that `seq` has
 * no hole, and that the events of a subject keep their order. Time runs a hundred times as fast, so that retries take milliseconds.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { anAppId } from "../../src/base/testing/ids.ts";
import { NOTHING_ALLOWED, parseAllow } from "../../src/net/allow.ts";
import type { WebhookRow } from "../../src/store/contract/webhooks.ts";
import { openStore } from "../../src/store/open.ts";
import { appRow } from "../../src/store/testing/rows.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { FanOut } from "../../src/webhooks/delivery/fan-out.ts";
import { WebhookLeader } from "../../src/webhooks/delivery/leader.ts";
import { WebhookMetrics } from "../../src/webhooks/delivery/metrics.ts";
import { Sender } from "../../src/webhooks/sending/sender.ts";
import type { Recipient } from "../../src/webhooks/signing/recipient.ts";
import { bitsFrom } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(900_000);

const EVENTS = IS_FULL ? 100_000 : 2000;
const KILLS = IS_FULL ? 40 : 3;
const SUBJECTS = 500;
const WRITTEN_AT_ONCE = 200;
const WAITING_MAX = 5000;
const SPEED = 100;
const APP = anAppId("a");

/** What became of the events of one endpoint, as its receiver sees it. */
class Checker {
  readonly wrong: string[] = [];
  requests = 0;
  private readonly attempts = new Map<number, number>();
  private readonly taken = new Set<number>();
  /** By subject, the highest number that was taken. */
  private readonly subjects = new Map<string, Set<number>>();

  get count(): number {
    return this.taken.size;
  }

  get highest(): number {
    return Math.max(0, ...this.attempts.keys());
  }

  /** A request has come. `written`: the numbers of all events of the subject up to this one. */
  came(subject: string, seq: number): number {
    this.requests++;
    const attempt = (this.attempts.get(seq) ?? 0) + 1;
    this.attempts.set(seq, attempt);
    const known = this.subjects.get(subject) ?? new Set();
    this.subjects.set(subject, known);
    for (const earlier of known)
      if (earlier < seq && !this.taken.has(earlier) && (this.attempts.get(earlier) ?? 0) < 3)
        this.wrong.push(`${seq} of ${subject} came before ${earlier}, which was not taken`);
    for (const later of known)
      if (later > seq && !this.taken.has(seq)) this.wrong.push(`${later} of ${subject} came before ${seq}`);
    known.add(seq);
    return attempt;
  }

  took(seq: number): void {
    this.taken.add(seq);
  }
}

test(`${EVENTS} events, while the process that sends is killed ${KILLS} times`, async () => {
  using folder = scratch();
  const store = await openStore(folder.path);
  const bits = bitsFrom(7);
  const random = (): number => bits() / 2 ** 32;
  const checkers = new Map(["/one", "/two"].map((path) => [path, new Checker()]));
  const receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const checker = checkers.get(new URL(request.url).pathname);
      const { data } = (await request.json()) as { data: { seq: number; channel: string } };
      const attempt = checker?.came(data.channel, data.seq) ?? 0;
      // Not three times: the subject would go on without it.
      if (attempt < 3 && random() < 0.02) return new Response("not now", { status: 500 });
      checker?.took(data.seq);
      return new Response();
    },
  });
  const started = systemClock.monotonicMs();
  const wallMs = (): number => Math.round(started + (systemClock.monotonicMs() - started) * SPEED);
  const clock = { ...systemClock, wallMs, retentionMs: wallMs };
  const recipients = new Map(
    [...checkers.keys()].map((path) => [path.slice(1), recipientOf(`http://127.0.0.1:${receiver.port}`, path)]),
  );
  await store.change(async (change) => {
    await change.putApp(appRow(APP));
    for (const { row } of recipients.values()) await change.putWebhook(row);
  });
  let deaths = 0;
  const rules = { allow: parseAllow("127.0.0.0/8") ?? NOTHING_ALLOWED, ownHosts: [], ownPorts: [] };
  const sender = new Sender({ rules, clock: systemClock, died: () => void deaths++ });
  const metrics = new WebhookMetrics(new Metrics());
  const lines: unknown[] = [];
  const log = {
    warn: (...line: unknown[]) => void lines.push(line),
    error: (...line: unknown[]) => void lines.push(line),
  } as never;
  const { webhooks } = store;
  const recipient = (id: string): Recipient | undefined => recipients.get(id);
  const fanOut = new FanOut({
    store: webhooks,
    rooms: store.rooms,
    recipients: () => [...recipients.values()],
    ofRoomUrl: async () => undefined,
    app: (id) => ({ id, name: "shop" }),
    records: { room: (row) => row, recording: (row) => row },
    nowMs: wallMs,
    metrics,
    log,
  });
  const endpoints = (): string[] => [...recipients.keys()];
  const disable = async (): Promise<void> => undefined;
  const parts = { store: webhooks, isShared: false, endpoints, recipient, fanOut, works: [], sender, disable };
  const leader = new WebhookLeader({ ...parts, clock, random, holder: "one", metrics, log });
  leader.start();
  const least = (): number => Math.min(...[...checkers.values()].map(({ count }) => count));
  let killed = 0;
  const killOften = (): void => {
    const isDue = killed < KILLS && least() > (EVENTS / (KILLS + 1)) * (killed + 1);
    if (!isDue || sender.pid === undefined || sender.size === 0) return;
    process.kill(sender.pid, "SIGKILL");
    killed++;
  };
  const arrived = (count: number) => (): boolean => {
    killOften();
    return least() >= count;
  };
  for (let at = 0; at < EVENTS; at += WRITTEN_AT_ONCE) {
    const events = Array.from({ length: WRITTEN_AT_ONCE }, (_, nth) => {
      const channel = `c${Math.floor(random() * SUBJECTS)}`;
      const fact = { type: "channel.occupied", channel } as const;
      return { app: APP, subject: channel, happened: wallMs() + nth, fact, webhook: null };
    });
    await webhooks.addEvents(events);
    await until("most has arrived", arrived(at - WAITING_MAX), 300_000);
  }
  await until("all has arrived", arrived(EVENTS), 600_000);
  await until("all is written", async () => (await webhooks.waiting()).length === 0);
  await leader.stop();
  await sender.stop();
  const states = await webhooks.states(endpoints());
  await store.close();
  void receiver.stop(true);
  for (const { wrong, count, highest } of checkers.values())
    expect({ wrong: wrong.slice(0, 5), count, highest }).toEqual({ wrong: [], count: EVENTS, highest: EVENTS });
  for (const { delivered, dropped, failed, lastSeq } of states)
    expect({ delivered, dropped, failed, lastSeq }).toEqual({
      delivered: EVENTS,
      dropped: 0,
      failed: 0,
      lastSeq: EVENTS,
    });
  const requests = [...checkers.values()].map((one) => one.requests);
  console.log(
    `${requests.join(" and ")} requests for ${EVENTS} events, ${deaths} processes died, ${metrics.lost.value} requests were lost`,
  );
  expect(deaths).toBe(KILLS);
});

function recipientOf(origin: string, path: string): Recipient {
  const row: WebhookRow = {
    id: path.slice(1),
    app: APP,
    kind: "control",
    url: origin + path,
    events: ["*"],
    channelPatterns: ["**"],
    description: null,
    headerNames: [],
    headersSealed: null,
    created: 1,
    disabled: null,
    disabledWhy: null,
  };
  return { row, secrets: [{ key: Buffer.alloc(24, 7), ends: null }], headers: {}, channels: { matches: () => true } };
}
