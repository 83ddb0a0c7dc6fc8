/** What waits for an endpoint that is away: it is bounded, what is dropped is counted, and everything else arrives when it is back. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { PinnedAnswer } from "../../net/pinned.ts";
import type { NewWebhookMessage } from "../../store/contract/webhooks.ts";
import { BACKLOG_MAX, ORDERED_ATTEMPTS } from "../limits.ts";
import { APP, keyCreated, occupied, type Seen, settled, World } from "../testing/world.ts";

setDefaultTimeout(120_000);

const REFUSED: PinnedAnswer = { error: "the connection was refused" };
const OK: PinnedAnswer = { status: 204, response: "" };
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

/** Smaller than BACKLOG_MAX, so that a day of events takes no minutes. */
const WAITING_MAX = 300;
const STEP_MS = 30 * MINUTE_MS;
const STEPS = DAY_MS / STEP_MS;
/** Per step. Those that must not be lost are fewer than WAITING_MAX in a day. */
const LOSSY = 30;
const KEPT = 2;
const SUBJECTS = 10;

/** One endpoint, as its receiver sees it. */
class Checker {
  isAway = false;
  /** Numbers in the order in which they were taken. */
  readonly taken: number[] = [];
  private readonly attempts = new Map<number, number>();
  private readonly requests: { readonly subject: string; readonly seq: number; readonly attempt: number }[] = [];

  answer = ({ seq, request }: Seen): PinnedAnswer => {
    const { type, data } = JSON.parse(request.body) as { type: string; data: { channel?: string } };
    const attempt = (this.attempts.get(seq) ?? 0) + 1;
    this.attempts.set(seq, attempt);
    this.requests.push({ subject: data.channel ?? type, seq, attempt });
    if (this.isAway) return REFUSED;
    this.taken.push(seq);
    return OK;
  };

  /** An event came before an earlier one of its subject that was not taken yet, and not tried as often as that one may hold it up. */
  outOfOrder(): string[] {
    const taken = new Set(this.taken);
    const wrong: string[] = [];
    for (const [at, { subject, seq }] of this.requests.entries())
      for (const later of this.requests.slice(at + 1))
        if (later.subject === subject && later.seq < seq && taken.has(later.seq) && later.attempt <= ORDERED_ATTEMPTS)
          wrong.push(`${seq} of ${subject} came before attempt ${later.attempt} of ${later.seq}`);
    return wrong;
  }
}

/** The same store, with a smaller bound. */
function bound(world: World, backlogMax: number): void {
  const { webhooks } = world.store;
  const enter = webhooks.enter.bind(webhooks);
  webhooks.enter = (lease, messages, done) => enter(lease, messages, done, { backlogMax });
}

const isLossySeq = (seq: number): boolean => (seq - 1) % (LOSSY + KEPT) < LOSSY;

async function stepOf(world: World, step: number): Promise<void> {
  const lossy = Array.from({ length: LOSSY }, (_, at) => occupied(`c${at % SUBJECTS}`));
  const kept = Array.from({ length: KEPT }, (_, at) => keyCreated(`k${step}-${at}`));
  await world.happen(...lossy, ...kept);
}

test("an endpoint is away for a day: the oldest that may be lost go, are counted, and all others arrive in order", async () => {
  await using world = await World.open("w1", "w2");
  bound(world, WAITING_MAX);
  const checker = new Checker();
  world.receivers.set("w1", checker.answer);
  const dispatcher = world.dispatcher();
  await stepOf(world, 0);
  await settled(dispatcher);
  expect(checker.taken.toSorted((a, b) => a - b)).toEqual(Array.from({ length: LOSSY + KEPT }, (_, at) => at + 1));
  checker.isAway = true;
  for (let step = 1; step <= STEPS; step++) {
    await stepOf(world, step);
    await settled(dispatcher);
    world.clock.advance(STEP_MS);
    expect((await world.state("w1")).backlog).toBeLessThanOrEqual(WAITING_MAX);
  }
  const away = await world.state("w1");
  const last = (LOSSY + KEPT) * (STEPS + 1);
  expect(away).toMatchObject({ lastSeq: last, backlog: WAITING_MAX, dropped: (LOSSY + KEPT) * STEPS - WAITING_MAX });
  expect(world.disabled).toEqual([]);
  checker.isAway = false;
  for (let waitedMs = 0; waitedMs < 2 * DAY_MS && (await world.state("w1")).backlog > 0; waitedMs += STEP_MS) {
    await settled(dispatcher);
    world.clock.advance(STEP_MS);
  }
  const all = Array.from({ length: last }, (_, at) => at + 1);
  const holes = all.filter((seq) => !checker.taken.includes(seq));
  expect(await world.state("w1")).toMatchObject({ backlog: 0, failed: 0, delivered: last - holes.length });
  // Each hole is a drop that was counted, and no number came twice.
  expect(holes).toHaveLength(away.dropped);
  expect(new Set(checker.taken).size).toBe(checker.taken.length);
  expect(world.metrics.dropped.value).toBe(away.dropped);
  // The oldest of those that may be lost, and none else.
  const lossy = all.slice(LOSSY + KEPT).filter(isLossySeq);
  expect(holes).toEqual(lossy.slice(0, away.dropped));
  expect(checker.outOfOrder()).toEqual([]);
  // Another endpoint has lost nothing.
  expect(await world.state("w2")).toMatchObject({ dropped: 0, delivered: last, backlog: 0 });
});

test("what came while it was away and was not tried as often comes in the order of its subject at once", async () => {
  await using world = await World.open("w1");
  bound(world, WAITING_MAX);
  const checker = new Checker();
  world.receivers.set("w1", checker.answer);
  checker.isAway = true;
  const dispatcher = world.dispatcher();
  for (let at = 0; at < WAITING_MAX + 50; at++) await world.happen(occupied("lobby"));
  await settled(dispatcher);
  checker.isAway = false;
  world.clock.advance(5000);
  await settled(dispatcher);
  expect(checker.taken).toEqual(Array.from({ length: WAITING_MAX }, (_, at) => at + 51));
});

test(`${BACKLOG_MAX} messages wait at most`, async () => {
  await using world = await World.open("w1");
  const { webhooks } = world.store;
  const messages = (from: number, count: number): NewWebhookMessage[] =>
    Array.from({ length: count }, (_, at) => ({
      webhook: "w1",
      app: APP,
      type: "channel.occupied",
      subject: `c${(from + at) % 1000}`,
      happened: 1,
      data: "{}",
      // Every fourth is of a room, a meeting, a recording or a key.
      isLossy: (from + at) % 4 !== 0,
    }));
  const AT_ONCE = 5000;
  for (let from = 1; from <= BACKLOG_MAX; from += AT_ONCE)
    await webhooks.enter(world.lease, messages(from, AT_ONCE), [], { backlogMax: BACKLOG_MAX });
  expect(await world.state("w1")).toMatchObject({ backlog: BACKLOG_MAX, dropped: 0 });
  // As events come: the bound is that of the service.
  await world.happen(...Array.from({ length: 20 }, (_, at) => occupied(`c${at}`)), keyCreated("k"));
  expect(await world.state("w1")).toMatchObject({ backlog: BACKLOG_MAX, dropped: 21, lastSeq: BACKLOG_MAX + 21 });
  expect(world.metrics.dropped.value).toBe(21);
  const isThere = async (seq: number): Promise<boolean> => (await webhooks.message("w1", seq)) !== undefined;
  const left: number[] = [];
  for (let seq = 1; seq <= 40; seq++) if (await isThere(seq)) left.push(seq);
  expect(left).toEqual([4, 8, 12, 16, 20, 24, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40]);
  expect(await isThere(BACKLOG_MAX + 21)).toBe(true);
});
