/**
 * Decides whether this process is the one that gives events to endpoints and sends them, and does so while it is. Without endpoints it takes no lease,
 * and only looks whether there is an event; with an embedded store, only after one was written.
 *
 * The lease is over when the store says so, or when it could not be renewed for LEASE_MS by the clock that no one sets: a process that was stopped and wakes
 * sends nothing, and the store refuses what it writes.
 */
import type { Clock } from "../../base/clock.ts";
import { otherWork } from "../../base/other-work.ts";
import { LEASE_MS } from "../../store/contract/leases.ts";
import type { Lost, WebhookLease, WebhookStore } from "../../store/contract/webhooks.ts";
import {
  BACKLOG_EVERY_MS,
  FORGOTTEN_ROWS_AT_ONCE,
  GIVEN_OUT_TURNS,
  IDLE_LOOK_EVERY_MS,
  LAST_REQUESTS_MS,
  LEASE_RENEW_EVERY_MS,
  LOOK_EVERY_MS,
  NUDGE_MS,
  TRIM_EVERY_MS,
  WORK_EVERY_MS,
  WORK_PAUSE_MS,
} from "../limits.ts";
import { Dispatcher, type DispatcherParts } from "./dispatcher.ts";
import type { FanOut } from "./fan-out.ts";

/** What the process with the lease does besides: it makes events of what nodes have written. */
export interface LeaderWork {
  /** `turn` is worth calling. */
  readonly isAsked: boolean;
  /** Called about every WORK_EVERY_MS. MUST write with the lease only. Returns how many events were written. */
  turn(lease: WebhookLease): Promise<number | Lost>;
}

interface LeaderParts extends Omit<DispatcherParts, "store" | "clock"> {
  readonly store: WebhookStore;
  /** Other processes write events too. */
  readonly isShared: boolean;
  /** Ids of all endpoints. */
  readonly endpoints: () => readonly string[];
  readonly fanOut: Pick<FanOut, "run">;
  readonly works: readonly LeaderWork[];
  readonly clock: Clock;
  /** A random name of this process. */
  readonly holder: string;
}

interface Term {
  readonly lease: WebhookLease;
  readonly dispatcher: Dispatcher;
  renewedMs: number;
  trimmedMs: number;
  lookedMs: number;
  countedMs: number;
  isOver: boolean;
}

/** An event that a transaction is writing is there soon after it was announced. */
const ANNOUNCED_FOR_MS = 5000;

export class WebhookLeader {
  private term: Term | undefined;
  private running: Promise<void> | undefined;
  /** Until `start`, another worker is the one that does what is done once per service. */
  private isStopped = true;
  private isNudged = false;
  private isLookWanted = false;
  private isNudging = false;
  private hasFailed = false;
  /** Work that has failed, and until when it is left alone. Bound: LeaderParts.works. */
  private readonly pausedWorks = new Map<LeaderWork, number>();
  private lookedMs = Number.NEGATIVE_INFINITY;
  /** Until then an event may be there. At the start, one of an earlier process. */
  private eventsUntilMs: number;

  constructor(private readonly parts: LeaderParts) {
    this.eventsUntilMs = parts.clock.monotonicMs() + ANNOUNCED_FOR_MS;
    // Others write to a shared store too, without a call here.
    if (parts.isShared) return;
    parts.store.onEvent?.(() => {
      this.eventsUntilMs = parts.clock.monotonicMs() + ANNOUNCED_FOR_MS;
      this.nudge();
    });
  }

  get isLeading(): boolean {
    return this.term !== undefined;
  }

  start(): void {
    this.isStopped = false;
    this.lookLater();
  }

  /** Something was written that is to be sent. */
  nudge(): void {
    this.isNudged = true;
    if (this.isNudging || this.isStopped) return;
    this.isNudging = true;
    this.parts.clock.after(NUDGE_MS, () => {
      this.isNudging = false;
      void this.look();
    });
  }

  /** Waits shortly for what is under way, and gives the lease to others. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
    const { term } = this;
    if (!term) return;
    await term.dispatcher.finish();
    await untilIdle(term.dispatcher, this.parts.clock);
    this.end(term);
    await this.parts.store.releaseLease(term.lease).catch((err: unknown) => this.failed(err));
  }

  /** Never rejects. One at a time. */
  look(): Promise<void> {
    if (this.isStopped) return Promise.resolve();
    this.isLookWanted = true;
    this.running ??= this.looks();
    return this.running;
  }

  private async looks(): Promise<void> {
    // `running` is set first.
    await undefined;
    while (this.isLookWanted && !this.isStopped) {
      this.isLookWanted = false;
      await this.lookOnce();
    }
    // In the same step as the last look at `isLookWanted`.
    this.running = undefined;
  }

  private lookLater(): void {
    if (this.isStopped) return;
    const isAsked = this.term !== undefined && this.parts.works.some((work) => work.isAsked);
    this.parts.clock.after(
      isAsked ? WORK_EVERY_MS : LOOK_EVERY_MS,
      () => void this.look().then(() => this.lookLater()),
    );
  }

  private async lookOnce(): Promise<void> {
    try {
      const term = this.term ?? (await this.begin());
      if (term) await this.work(term);
      this.hasFailed = false;
    } catch (err) {
      this.failed(err);
    }
  }

  private async begin(): Promise<Term | undefined> {
    if (!(await this.isNeeded())) return undefined;
    const { store, clock, metrics, holder } = this.parts;
    const nowMs = clock.monotonicMs();
    const lease = await store.takeLease(holder);
    if (!lease) return undefined;
    const isHeld = (): boolean => !term.isOver && clock.monotonicMs() - term.renewedMs < LEASE_MS;
    const dispatcher = new Dispatcher(this.parts, lease, isHeld, () => this.end(term));
    const never = Number.NEGATIVE_INFINITY;
    const times = { renewedMs: nowMs, trimmedMs: nowMs, lookedMs: never, countedMs: never };
    const term: Term = { lease, dispatcher, ...times, isOver: false };
    this.term = term;
    metrics.isLeading = true;
    metrics.underWay = () => dispatcher.underWay;
    return term;
  }

  /** Whether there are endpoints, or events. */
  private async isNeeded(): Promise<boolean> {
    const { store, isShared, clock, endpoints } = this.parts;
    if (endpoints().length > 0) return true;
    const nowMs = clock.monotonicMs();
    const isAnnounced = store.onEvent !== undefined && !isShared;
    const isDue = isAnnounced ? nowMs < this.eventsUntilMs : nowMs - this.lookedMs >= IDLE_LOOK_EVERY_MS;
    if (!isDue) return false;
    this.lookedMs = nowMs;
    return (await store.events(1)).length > 0;
  }

  private async work(term: Term): Promise<void> {
    const { works, endpoints, store } = this.parts;
    if (!(await this.renew(term))) return this.end(term);
    let written = 0;
    for (const work of works.filter(({ isAsked }) => isAsked)) {
      const result = await this.turnOf(work, term);
      if (result === "lost") return this.end(term);
      written += result;
    }
    if (written === 0 && !this.isLookDue(term)) return;
    if ((await this.giveOut(term)) === "lost") return this.end(term);
    await this.tidy(term);
    if (this.isStopped || term.isOver) return;
    // Not awaited: it goes on while requests are answered.
    void term.dispatcher.look();
    const isLeft = endpoints().length > 0 || !term.dispatcher.isIdle || (await store.events(1)).length > 0;
    if (isLeft) return;
    this.end(term);
    await store.releaseLease(term.lease);
  }

  /** Work that fails, as while the history is away, keeps nothing else from being sent, and has a pause. */
  private async turnOf(work: LeaderWork, { lease }: Term): Promise<number | Lost> {
    const { clock, log } = this.parts;
    const pausedUntilMs = this.pausedWorks.get(work);
    if (pausedUntilMs !== undefined && clock.monotonicMs() < pausedUntilMs) return 0;
    try {
      const result = await work.turn(lease);
      this.pausedWorks.delete(work);
      return result;
    } catch (err) {
      if (pausedUntilMs === undefined)
        log.warn({ err }, "webhook events could not be created from stored data; trying again");
      this.pausedWorks.set(work, clock.monotonicMs() + WORK_PAUSE_MS);
      return 0;
    }
  }

  /** A turn of `works` is more frequent than it makes sense to look for what other processes have written. */
  private isLookDue(term: Term): boolean {
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs - term.lookedMs < LOOK_EVERY_MS - WORK_EVERY_MS / 2 && !this.isNudged) return false;
    term.lookedMs = nowMs;
    this.isNudged = false;
    return true;
  }

  private async giveOut(term: Term): Promise<Lost | undefined> {
    for (let turn = 0; turn < GIVEN_OUT_TURNS && !this.isStopped && !term.isOver; turn++) {
      const result = await this.parts.fanOut.run(term.lease);
      if (result === "lost") return "lost";
      if (result === "done") return undefined;
      // A long backlog of events takes more than what is left of the lease.
      if (!(await this.renew(term))) return "lost";
      void term.dispatcher.look();
      await otherWork();
    }
    // However many events there are, what else is to be done has its turn.
    this.nudge();
    return undefined;
  }

  /** false: another process has it. */
  private async renew(term: Term): Promise<boolean> {
    const { store, clock } = this.parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - term.renewedMs < LEASE_RENEW_EVERY_MS) return true;
    if (!(await store.renewLease(term.lease))) return false;
    term.renewedMs = nowMs;
    return true;
  }

  private async tidy(term: Term): Promise<void> {
    const { store, clock, endpoints, metrics } = this.parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - term.countedMs >= BACKLOG_EVERY_MS) {
      term.countedMs = nowMs;
      const states = await store.states(endpoints());
      metrics.backlog = states.reduce((sum, { backlog }) => sum + backlog, 0);
    }
    if (nowMs - term.trimmedMs < TRIM_EVERY_MS) return;
    term.trimmedMs = nowMs;
    for (const id of endpoints())
      while ((await store.trim(id, clock.retentionMs())) > 0 && !this.isStopped) if (!(await this.renew(term))) return;
    while ((await store.forget(FORGOTTEN_ROWS_AT_ONCE)) > 0 && !this.isStopped) if (!(await this.renew(term))) return;
  }

  /** Everything stops at once. */
  private end(term: Term): void {
    if (term.isOver) return;
    term.isOver = true;
    term.dispatcher.stop();
    if (this.term === term) this.term = undefined;
    const { metrics } = this.parts;
    metrics.isLeading = false;
    metrics.backlog = 0;
    metrics.underWay = () => 0;
  }

  /** Said once per outage. */
  private failed(err: unknown): void {
    if (!this.hasFailed) this.parts.log.warn({ err }, "the store is not responding, so webhooks wait; trying again");
    this.hasFailed = true;
  }
}

async function untilIdle(dispatcher: Dispatcher, { monotonicMs }: Pick<Clock, "monotonicMs">): Promise<void> {
  const untilMs = monotonicMs() + LAST_REQUESTS_MS;
  while (!dispatcher.isIdle && monotonicMs() < untilMs) await Bun.sleep(IDLE_CHECK_MS);
}
const IDLE_CHECK_MS = 20;
