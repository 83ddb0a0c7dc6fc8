/** An endpoint as sending sees it: its row, what signs what is sent to it, and what goes with each request. */
import type { WebhookRow } from "../../store/contract/webhooks.ts";

export interface Recipient {
  readonly row: WebhookRow;
  /** Those that sign now, and those that did. Empty: nothing can be sent. */
  readonly secrets: readonly {
    readonly key: Buffer;
    /** Unix ms until which it signs; null: it is the current one. */
    readonly ends: number | null;
  }[];
  /** Extra headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The channels of which it gets events; null: of none. */
  readonly channels: { matches(channel: string): boolean } | null;
}
