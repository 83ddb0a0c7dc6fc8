/** What the control plane answers about webhooks. */

export interface Webhook {
  readonly _id: string;
  /** Who has made it: operators, the application's backend, or a URL field of its rooms. */
  readonly kind: "control" | "application" | "room";
  /** Operators with the role read get its origin only. */
  readonly url: string;
  /** Types, groups of types, or `*`. Empty for a URL of rooms. */
  readonly events: readonly string[];
  readonly channelPatterns: readonly string[] | null;
  readonly description: string | null;
  /** Their values are masked. */
  readonly headers: Readonly<Record<string, string>>;
  readonly disabled: boolean;
  readonly disabledAt: number | null;
  readonly disabledReason: "request" | "gone" | "failing" | null;
  readonly created: number;
  /** false: the master key cannot decrypt its secret, and nothing is sent. */
  readonly canSign: boolean;
  /** Replaced secrets that still sign, too. */
  readonly previousSecrets: readonly { readonly endsAt: number }[];
  readonly health: WebhookHealth;
}

export interface CreatedWebhook extends Webhook {
  readonly secret: string;
}

export interface WebhookHealth {
  readonly state: "new" | "ok" | "failing" | "disabled";
  readonly waiting: number;
  readonly delivered: number;
  /** Events of which no attempt is left. */
  readonly failed: number;
  readonly dropped: number;
  readonly lastAttempt: number | null;
  readonly lastSuccess: number | null;
  readonly failingSince: number | null;
  /** null: there was no answer. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  /** Nothing is sent before: the receiver has asked for fewer requests. */
  readonly slowUntil: number | null;
}

/** One attempt to send one event. */
export interface WebhookDelivery {
  readonly _id: string;
  /** The same over all attempts of the event. */
  readonly webhookId: string;
  readonly seq: number;
  readonly type: string;
  readonly attempt: number;
  readonly at: number;
  readonly tookMs: number;
  readonly succeeded: boolean;
  readonly status: number | null;
  readonly error: string | null;
  /** Absent for operators with the role read. */
  readonly response?: string | null;
  /** Absent unless the application allows it. */
  readonly data?: unknown;
}

export interface TestedWebhook {
  readonly succeeded: boolean;
  readonly status: number | null;
  readonly ms: number;
  readonly response: string | null;
  readonly error: string | null;
}

/** One URL field of a room. */
export interface RoomWebhookSecret {
  readonly field: string;
  readonly event: string;
  readonly url: string;
  readonly secret: string;
  /** The webhook that this URL is, once something was sent to it. */
  readonly _id: string;
}
