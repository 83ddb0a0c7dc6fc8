/**
 * Sends what waits, for as long as this process has the lease. One turn after another: what was answered is written to the store, what has come due is read,
 * and as much as may be under way is sent. The lease is checked by the store with every write, and here before every request.
 *
 * A request whose result is not in the store yet is sent again by the next holder: at least once.
 */
import type { Clock } from "../../base/clock.ts";
import {
  type Lost,
  WEBHOOK_DUE_AHEAD_MAX_MS,
  WEBHOOK_ROWS_AT_ONCE,
  type WebhookLease,
  type WebhookMessageRow,
  type WebhookOutcome,
  type WebhookStore,
} from "../../store/contract/webhooks.ts";
import type { Log } from "../../telemetry/log.ts";
import { FAILING_MAX_MS, MESSAGES_READ_MAX, SENDER_RESTART_MS } from "../limits.ts";
import type { Sender } from "../sending/sender.ts";
import type { Recipient } from "../signing/recipient.ts";
import { requestOf } from "../signing/request.ts";
import { judge } from "./judging.ts";
import { Lane } from "./lane.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { Places } from "./places.ts";

export interface DispatcherParts {
  readonly store: Pick<WebhookStore, "waiting" | "due" | "settle" | "states">;
  readonly recipient: (id: string) => Recipient | undefined;
  readonly sender: Pick<Sender, "send">;
  readonly disable: (id: string, why: "gone" | "failing") => Promise<void>;
  readonly clock: Pick<Clock, "wallMs">;
  readonly random: () => number;
  readonly metrics: WebhookMetrics;
  readonly log: Pick<Log, "warn" | "error">;
}

const KEPT = "; its pending events are kept, and sent once you enable it";
const WHY_DISABLED = {
  gone: `a webhook was disabled: its endpoint answered 410 Gone${KEPT}`,
  failing: `a webhook was disabled: no request to it has succeeded for ${FAILING_MAX_MS / 86_400_000} days${KEPT}`,
} as const;

export class Dispatcher {
  /** Bound: endpoints with messages. */
  private readonly lanes = new Map<string, Lane>();
  /** Bound: REQUESTS_AT_ONCE_MAX: nothing is sent while they cannot be written. */
  private outcomes: WebhookOutcome[] = [];
  private running: Promise<void> | undefined;
  private isWanted = false;
  private isLookWanted = false;
  private isStopped = false;
  private pausedUntilMs = 0;
  /** Requests that were begun. */
  private launches = 0;

  constructor(
    private readonly parts: DispatcherParts,
    private readonly lease: WebhookLease,
    /** false: the lease may be over. Nothing is sent then. */
    private readonly isHeld: () => boolean,
    private readonly lost: () => void,
  ) {}

  /** Requests under way. */
  get underWay(): number {
    let count = 0;
    for (const { underWay } of this.lanes.values()) count += underWay.size;
    return count;
  }

  /** Nothing waits to be written, and nothing is under way. */
  get isIdle(): boolean {
    return this.running === undefined && this.outcomes.length === 0 && this.underWay === 0;
  }

  /** Looks in the store for what is due. Resolves when it was sent. */
  look(): Promise<void> {
    this.isLookWanted = true;
    return this.wake();
  }

  /** Sends nothing more, and forgets what is under way. */
  stop(): void {
    this.isStopped = true;
  }

  /** Sends nothing more. To be called until `isIdle`, or until it has taken too long. */
  finish(): Promise<void> {
    this.pausedUntilMs = Number.POSITIVE_INFINITY;
    return this.wake();
  }

  private wake(): Promise<void> {
    this.isWanted = true;
    this.running ??= this.turns();
    return this.running;
  }

  private async turns(): Promise<void> {
    try {
      // `running` is set first.
      await undefined;
      while (this.isWanted && !this.isStopped) {
        this.isWanted = false;
        await this.turn();
      }
    } catch (err) {
      // The next look tries again.
      this.parts.log.error({ err }, "pending webhook events could not be read or written; trying again");
    } finally {
      // In the same step as the last look at `isWanted`: nothing that is asked for in between is missed.
      this.running = undefined;
    }
  }

  private async turn(): Promise<void> {
    if ((await this.settle()) === "lost") return this.lost();
    if (this.isLookWanted) {
      this.isLookWanted = false;
      await this.readWaiting();
    }
    await this.readDue();
    if (this.isStopped) return;
    this.launch();
  }

  private async settle(): Promise<Lost | undefined> {
    const { store } = this.parts;
    while (this.outcomes.length > 0) {
      const some = this.outcomes.slice(0, WEBHOOK_ROWS_AT_ONCE);
      if ((await store.settle(this.lease, some)) === "lost") return "lost";
      this.outcomes = this.outcomes.slice(some.length);
      for (const { webhook, seq } of some) {
        const lane = this.lanes.get(webhook);
        lane?.settling.delete(seq);
        if (lane) lane.dueMs = 0;
      }
      await this.disableFailing(new Set(some.filter(({ isSuccess }) => !isSuccess).map(({ webhook }) => webhook)));
    }
    return undefined;
  }

  private async disableFailing(ids: ReadonlySet<string>): Promise<void> {
    const { store, clock } = this.parts;
    const lanes = [...ids].flatMap((id) => this.lanes.get(id) ?? []).filter(({ isProven }) => !isProven);
    const unknown = lanes.filter(({ failingSinceMs }) => failingSinceMs === undefined).map(({ id }) => id);
    for (const { webhook, failingSince } of await store.states(unknown)) {
      const lane = this.lanes.get(webhook);
      if (lane) lane.failingSinceMs = failingSince ?? undefined;
    }
    for (const { id, failingSinceMs } of lanes)
      if (failingSinceMs !== undefined && clock.wallMs() - failingSinceMs >= FAILING_MAX_MS)
        await this.disable(id, "failing");
  }

  private async disable(id: string, why: "gone" | "failing"): Promise<void> {
    const { recipient, disable, metrics, log } = this.parts;
    const row = recipient(id)?.row;
    if (!row || row.disabled !== null) return;
    await disable(id, why);
    metrics.disabled(why).inc();
    log.warn({ app: row.app, webhook: id }, WHY_DISABLED[why]);
  }

  private async readWaiting(): Promise<void> {
    const waiting = new Map((await this.parts.store.waiting()).map(({ webhook, due }) => [webhook, due]));
    const aheadMs = this.parts.clock.wallMs() + WEBHOOK_DUE_AHEAD_MAX_MS;
    await this.meet([...waiting.keys()].filter((id) => !this.lanes.has(id)));
    for (const [id, due] of waiting) {
      const lane = this.lanes.get(id);
      if (lane) lane.dueMs = due > aheadMs ? 0 : due;
    }
    for (const lane of this.lanes.values())
      if (lane.isIdle && this.recipientOf(lane) === undefined) this.lanes.delete(lane.id);
  }

  /** What an earlier holder of the lease knew of them goes on. */
  private async meet(ids: readonly string[]): Promise<void> {
    const states = new Map((await this.parts.store.states(ids)).map((state) => [state.webhook, state]));
    for (const id of ids) this.lanes.set(id, new Lane(id, states.get(id)));
  }

  /** undefined: nothing is sent to it now. */
  private recipientOf({ id }: Lane): Recipient | undefined {
    const recipient = this.parts.recipient(id);
    return recipient && recipient.row.disabled === null && recipient.secrets.length > 0 ? recipient : undefined;
  }

  private async readDue(): Promise<void> {
    const { store, clock } = this.parts;
    for (const lane of this.lanes.values()) {
      const nowMs = clock.wallMs();
      const isAsked = lane.queue.length === 0 && lane.room > 0 && lane.dueMs <= nowMs && !lane.isSlow(nowMs);
      if (!isAsked || this.isStopped || this.pausedUntilMs > nowMs || !this.recipientOf(lane)) continue;
      const except = [...lane.underWay, ...lane.settling];
      // Not many more than it may have now: many endpoints that fail would hold much.
      const limit = Math.min(MESSAGES_READ_MAX, 2 * lane.room);
      lane.queue = await store.due(lane.id, nowMs, limit, except);
      // Until the next look, or until something was written for it.
      if (lane.queue.length < limit) lane.dueMs = Number.POSITIVE_INFINITY;
    }
  }

  private launch(): void {
    const nowMs = this.parts.clock.wallMs();
    if (this.pausedUntilMs > nowMs) return;
    const places = new Places(this.lanes.values(), this.launches);
    for (let lane = places.next(); lane && this.isHeld(); lane = places.next()) {
      const recipient = this.recipientOf(lane);
      const [message, ...others] = recipient && !lane.isSlow(nowMs) ? lane.queue : [];
      lane.queue = others;
      if (!recipient || !message) continue;
      void this.send(lane, message, recipient);
      places.taken(lane);
    }
    this.launches = places.launches;
  }

  /** Never rejects. */
  private async send(lane: Lane, message: WebhookMessageRow, recipient: Recipient): Promise<void> {
    const { sender, clock, metrics, random } = this.parts;
    const at = clock.wallMs();
    const request = requestOf(message, recipient, at);
    if (!request) return;
    lane.underWay.add(message.seq);
    const sent = await sender.send(request);
    lane.underWay.delete(message.seq);
    if (this.isStopped) return;
    if (sent === "lost") {
      metrics.lost.inc();
      lane.dueMs = 0;
      lane.queue = [];
      this.pausedUntilMs = Math.max(this.pausedUntilMs, clock.wallMs() + SENDER_RESTART_MS);
      return;
    }
    const attempt = message.attempts + 1;
    const { answer, tookMs } = sent;
    const { isGone, ...judged } = judge({ attempt, answer, nowMs: clock.wallMs(), random, slowTimes: lane.slowTimes });
    (judged.isSuccess ? metrics.succeeded : metrics.failed).inc();
    metrics.tookMs.observe(tookMs);
    lane.note({ isGone, ...judged });
    lane.settling.add(message.seq);
    const { webhook, app, seq, type, subject } = message;
    this.outcomes.push({ webhook, app, seq, type, subject, attempt, at, tookMs, ...judged });
    if (isGone) await this.disableGone(webhook);
    void this.wake();
  }

  private async disableGone(id: string): Promise<void> {
    try {
      await this.disable(id, "gone");
    } catch (err) {
      this.parts.log.error({ err, webhook: id }, "a webhook could not be disabled; trying again with its next request");
    }
  }
}
