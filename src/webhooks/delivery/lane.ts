/**
 * What the sending process's owner knows of one endpoint: what is to be sent to it, and how much it may have at once. An endpoint begins with few requests
 * at the same time, gets more with each success, and one after a failure: those that hang do not take the places of the others.
 */
import { RETRY_AFTER_MAX_MS } from "../../net/limits.ts";
import type { WebhookMessageRow, WebhookState } from "../../store/contract/webhooks.ts";
import { FIRST_REQUESTS, REQUESTS_PER_ENDPOINT_MAX } from "../limits.ts";
import type { Judgement } from "./judging.ts";

export class Lane {
  /** To be sent next. Bound: MESSAGES_READ_MAX. */
  queue: readonly WebhookMessageRow[] = [];
  /** Numbers of what is being sent. Bound: REQUESTS_PER_ENDPOINT_MAX. */
  readonly underWay = new Set<number>();
  /** Numbers of what was sent, until the store knows what became of it. Bound: what a turn of the dispatcher has sent. */
  readonly settling = new Set<number>();
  /** Its last attempt has succeeded. */
  isProven: boolean;
  /** When something may be due in the store. */
  dueMs = 0;
  slowTimes = 0;
  /** Its last request was the how manieth of all. */
  launch = 0;
  /** Whose it is: applications have their turns. */
  readonly app: string;
  /** As far as it is known. */
  failingSinceMs: number | undefined;
  private slowUntilMs: number;
  private window = FIRST_REQUESTS;

  constructor(
    readonly id: string,
    state: WebhookState | undefined,
  ) {
    this.app = state?.app ?? "";
    this.isProven = state?.succeededAt != null && state.failingSince === null;
    this.slowUntilMs = state?.slowUntil ?? 0;
    this.failingSinceMs = state?.failingSince ?? undefined;
  }

  get isIdle(): boolean {
    return this.underWay.size === 0 && this.settling.size === 0;
  }

  /** How many more requests it may have now. */
  get room(): number {
    return this.window - this.underWay.size;
  }

  /** It has asked for fewer requests: it has none now. */
  isSlow(nowMs: number): boolean {
    // The clock was set back since: no one asks for a longer pause.
    if (this.slowUntilMs > nowMs + RETRY_AFTER_MAX_MS) this.slowUntilMs = nowMs;
    return this.slowUntilMs > nowMs;
  }

  note({ isSuccess, slowUntil }: Judgement): void {
    this.isProven = isSuccess;
    this.window = isSuccess ? Math.min(REQUESTS_PER_ENDPOINT_MAX, this.window + 1) : 1;
    if (isSuccess) this.failingSinceMs = undefined;
    if (slowUntil === null) this.slowTimes = isSuccess ? 0 : this.slowTimes;
    else {
      this.slowTimes++;
      this.slowUntilMs = Math.max(this.slowUntilMs, slowUntil);
      // They are read again when it wants them.
      this.queue = [];
    }
  }
}
