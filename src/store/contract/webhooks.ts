/**
 * The contract of webhooks: which endpoints get which events, what is still to be sent, and what became of it.
 *
 * - Events of rooms, meetings, recordings and keys MUST be written in the transaction of the change itself, and only for applications of
 *   `webhook_apps`. `putWebhook`, and a room with one of the four URL fields, MUST add their application to it in their transaction.
 * - One process at a time has the lease, by the clock of the store. `enter`, `settle` and every other call with a lease MUST change nothing and
 *   return "lost" if the lease has another number by now: a holder that was stopped and wakes writes nothing.
 * - `enter` MUST give every message the next `seq` of its endpoint, and MUST remove the events it was made of in the same transaction.
 * - Endpoints, like keys, are written with `Change`, so that every node learns of them. Messages and attempts are not in the revision.
 * - Of an endpoint that does not exist any more nothing is returned; `forget` removes what it has left.
 */
import type { AppId } from "../../base/ids.ts";
import type { Action } from "../../protocol/actions.ts";
import type { MeetingRow, StayRow, WaitingRow } from "./meetings.ts";
import type { RecordingRow } from "./recordings.ts";
import type { RoomRow } from "./rooms.ts";

export type WebhookKind = "control" | "application" | "room";
export type DisabledWhy = "request" | "gone" | "failing";

export interface WebhookRow {
  readonly id: string;
  readonly app: AppId;
  readonly kind: WebhookKind;
  readonly url: string;
  /** Types, or patterns of them: `channel.*`, `*`. */
  readonly events: readonly string[];
  readonly channelPatterns: readonly string[] | null;
  readonly description: string | null;
  readonly headerNames: readonly string[];
  /** Their values, as JSON, sealed; null: there are none. */
  readonly headersSealed: string | null;
  readonly created: number;
  readonly disabled: number | null;
  readonly disabledWhy: DisabledWhy | null;
}

export interface WebhookSecretRow {
  readonly webhook: string;
  readonly seq: number;
  readonly sealed: string;
  readonly created: number;
  /** null: it is the current one. */
  readonly ends: number | null;
}

/** A key without its secret. */
export interface WebhookKey {
  readonly id: string;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: readonly string[];
  readonly actions: readonly Action[];
}

/** Rows of the store, as they were when it happened. `src/webhooks/events` makes of them what receivers get. */
export type WebhookFact =
  | { readonly type: "room.created" | "room.updated" | "room.archived"; readonly room: RoomRow }
  | { readonly type: "meeting.started" | "meeting.ended"; readonly meeting: MeetingRow }
  | {
      readonly type: "participant.joined" | "participant.left";
      readonly stay: StayRow;
      readonly roomName: string;
    }
  /** Without what others must not see: digests of its address. */
  | {
      readonly type: "participant.waiting";
      readonly waiting: Pick<WaitingRow, "room" | "name" | "since">;
      readonly roomName: string;
    }
  | { readonly type: "recording.ready" | "recording.deleted"; readonly recording: RecordingRow }
  | {
      readonly type: "key.created" | "key.rotated" | "key.revoked";
      readonly key: WebhookKey;
    }
  | {
      readonly type: "quota.reached";
      readonly kind: "messages" | "connections";
      readonly limit: number;
      /** Unix seconds of the beginning of the period. */
      readonly period: number;
    }
  | {
      readonly type: "connection.opened" | "connection.closed";
      readonly peerId: string;
      readonly connectionId: string;
      readonly keyId: string;
      readonly metadataJson: string | null;
      readonly opened: number;
      readonly closed?: number;
      readonly code?: number | null;
      readonly reason?: string | null;
    }
  | { readonly type: "channel.occupied" | "channel.vacated"; readonly channel: string }
  | {
      readonly type: "peer.joined" | "peer.left";
      readonly channel: string;
      readonly peerId: string;
      readonly metadataJson: string | null;
    }
  | {
      readonly type: "message.published";
      readonly channel: string;
      readonly epoch: string;
      /** What was between the cursor and the first of them is not stored any more. */
      readonly gap: boolean;
      readonly messages: readonly {
        readonly offset: number;
        readonly time: number;
        readonly from: string;
        readonly metadataJson: string | null;
        readonly dataJson: string;
      }[];
    }
  | { readonly type: "webhook.test" };

export type WebhookEventType = WebhookFact["type"];

/** An event that was not given to endpoints yet. */
export interface WebhookEventRow {
  readonly id: string;
  readonly app: AppId;
  readonly subject: string;
  readonly happened: number;
  readonly fact: WebhookFact;
  /** Only for this endpoint; null: for all of the application that ask for it. */
  readonly webhook: string | null;
}
export type NewWebhookEvent = Omit<WebhookEventRow, "id">;

/** An event for one endpoint. */
export interface NewWebhookMessage {
  readonly webhook: string;
  readonly app: AppId;
  readonly type: WebhookEventType;
  readonly subject: string;
  readonly happened: number;
  /** What is sent as `data`, without `seq`: the text of a JSON object. */
  readonly data: string;
  /** It may be dropped when too many wait: events of connections, channels and peers. */
  readonly isLossy: boolean;
}

export interface WebhookMessageRow extends Omit<NewWebhookMessage, "isLossy"> {
  readonly seq: number;
  readonly state: "waiting" | "done" | "failed";
  /** How often it was attempted. */
  readonly attempts: number;
  readonly due: number;
}

/** Numbers and health of an endpoint. */
export interface WebhookState {
  readonly webhook: string;
  readonly app: AppId;
  readonly lastSeq: number;
  readonly backlog: number;
  readonly dropped: number;
  readonly delivered: number;
  /** Messages of which no attempt is left. */
  readonly failed: number;
  readonly attemptedAt: number | null;
  readonly succeededAt: number | null;
  readonly failingSince: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly slowUntil: number | null;
}

/** What became of one attempt. */
export interface WebhookOutcome {
  readonly webhook: string;
  readonly app: AppId;
  readonly seq: number;
  readonly type: WebhookEventType;
  readonly subject: string;
  /** The how manieth of its message: 1 is the first. */
  readonly attempt: number;
  readonly at: number;
  readonly tookMs: number;
  readonly isSuccess: boolean;
  readonly status: number | null;
  readonly error: string | null;
  /** The beginning of its body; null: nothing is kept of it. */
  readonly response: string | null;
  /** When the next attempt is due; null: it succeeded, or none is left. */
  readonly next: number | null;
  /** Later messages of the subject wait for this one. */
  readonly isBlocking: boolean;
  /** No request to the endpoint before this time; null: no change. */
  readonly slowUntil: number | null;
}

/** An attempt in the log. */
export interface WebhookAttemptRow
  extends Pick<
    WebhookOutcome,
    "webhook" | "seq" | "type" | "attempt" | "at" | "tookMs" | "isSuccess" | "status" | "error" | "response"
  > {
  readonly nr: number;
  /** What its message has as `data`; null: it is not kept any more. */
  readonly data: string | null;
}

export interface AttemptSearch {
  readonly isSuccess?: boolean | undefined;
  readonly type?: string | undefined;
  readonly limit: number;
  /** Newest first, behind this number. */
  readonly after?: number | undefined;
}

/** The number of a lease that this process has. */
export interface WebhookLease {
  readonly holder: string;
  readonly number: number;
}
export type Lost = "lost";

/** The log has the newest attempts of an endpoint, and its newest failures, as long as they are younger than WEBHOOK_LOG_FAILURE_MS. */
export const WEBHOOK_LOG_ATTEMPTS = 1000;
export const WEBHOOK_LOG_FAILURES = 10_000;
export const WEBHOOK_LOG_FAILURE_MS = 7 * 86_400_000;
/** Messages of an endpoint that have failed can be replayed as long as that; beyond this number the oldest go. */
export const WEBHOOK_FAILED_MAX = 100_000;

/** No message waits longer for its next attempt: one that is due later was given its time by a clock that was set back since, and is due now. */
export const WEBHOOK_DUE_AHEAD_MAX_MS = 27 * 3_600_000;

/** How many messages or outcomes a caller SHOULD give at once: SQLite writes them on the event loop, in about 4 ms. */
export const WEBHOOK_ROWS_AT_ONCE = 250;

export interface EnterBounds {
  /** How many messages of one endpoint may wait. */
  readonly backlogMax: number;
}

/** Fields of a room that are endpoints for one event each. */
export const ROOM_WEBHOOKS = {
  meetingJoinWebhook: "participant.joined",
  meetingLeftWebhook: "participant.left",
  meetingStartedWebhook: "meeting.started",
  meetingEndedWebhook: "meeting.ended",
} as const satisfies Readonly<Record<string, WebhookEventType>>;

/** A position up to which the messages of a channel were given to an endpoint. */
export interface WebhookCursorRow {
  readonly webhook: string;
  readonly app: AppId;
  readonly channel: string;
  readonly epoch: string;
  readonly position: number;
  readonly used: number;
}

export interface WebhookStore {
  /**
   * undefined: another process has it. One that was not renewed for LEASE_MS is free, one that is ahead of the clock by more than that, and in an
   * embedded store one that an earlier process has left.
   */
  takeLease(holder: string): Promise<WebhookLease | undefined>;
  renewLease(lease: WebhookLease): Promise<boolean>;
  releaseLease(lease: WebhookLease): Promise<void>;

  /** Calls back when this process has written an event. Its transaction may still be open. Absent: `events` has to be called often. */
  readonly onEvent?: (listener: () => void) => void;
  /** Oldest first; with `maxBytes` as many as have at most that much to tell, but one. */
  events(limit: number, maxBytes?: number): Promise<readonly WebhookEventRow[]>;
  /** Outside of a change of the store, such as `quota.reached`. Writes nothing for an application without anyone to tell. */
  addEvents(events: readonly NewWebhookEvent[]): Promise<void>;
  /**
   * Gives events to endpoints: `done` are removed. Returns how many were dropped, by endpoint. Where none of `done` is there any more, this was
   * done before, and nothing is entered again.
   */
  enter(
    lease: WebhookLease,
    messages: readonly NewWebhookMessage[],
    done: readonly string[],
    bounds: EnterBounds,
  ): Promise<ReadonlyMap<string, number> | Lost>;

  /** Endpoints with messages that are due, or will be, with the time of the first. */
  waiting(): Promise<readonly { readonly webhook: string; readonly due: number }[]>;
  /**
   * Messages of an endpoint that are due, or further ahead than WEBHOOK_DUE_AHEAD_MAX_MS, and not blocked; at most `limit`. First attempts are in the order of `seq`, and take turns with those that
   * are tried again. `except`: numbers that are under way.
   */
  due(webhook: string, nowMs: number, limit: number, except: readonly number[]): Promise<readonly WebhookMessageRow[]>;
  /** Writes log, numbers and health, and what becomes of the messages and of those behind them in their subjects. */
  settle(lease: WebhookLease, outcomes: readonly WebhookOutcome[]): Promise<"settled" | Lost>;

  states(webhooks: readonly string[]): Promise<readonly WebhookState[]>;
  /** An endpoint was switched on again: what failed before does not count any more, and it may be called at once. */
  recover(webhook: string): Promise<void>;
  message(webhook: string, seq: number): Promise<WebhookMessageRow | undefined>;
  attempts(webhook: string, search: AttemptSearch): Promise<readonly WebhookAttemptRow[]>;
  /** By its number in the log. */
  attempt(webhook: string, nr: number): Promise<WebhookAttemptRow | undefined>;
  /** Sends it again now, with the same id and number, whatever became of it, beside the order. false: it is not kept any more. */
  resend(webhook: string, seq: number, nowMs: number): Promise<boolean>;
  /** Makes everything that has not succeeded and happened since then due now, as if it had not been attempted. Returns how many. */
  replay(webhook: string, sinceMs: number, nowMs: number): Promise<number>;

  /** Removes some of the attempts and messages of an endpoint that are over their bounds. 0: there are no more; otherwise there may be. */
  trim(webhook: string, nowMs: number): Promise<number>;
  /** Removes some of what endpoints that do not exist any more have left. Returns how many rows. */
  forget(limit: number): Promise<number>;

  cursors(webhook: string): Promise<readonly WebhookCursorRow[]>;
  /** Writes cursors and the events they stand for in one transaction; beyond `max` per endpoint those go that were used longest ago. */
  advance(
    lease: WebhookLease,
    cursors: readonly WebhookCursorRow[],
    events: readonly NewWebhookEvent[],
    max: number,
  ): Promise<"advanced" | Lost>;
}
