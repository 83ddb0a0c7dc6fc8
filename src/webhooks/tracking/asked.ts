/** What the endpoints of an application ask of its connections and channels, together. */
import type { AppId } from "../../base/ids.ts";
import { asksFor } from "../../protocol/webhook-events.ts";
import type { WebhookEventType, WebhookRow } from "../../store/contract/webhooks.ts";

/** An endpoint, as the book has it. */
export interface AskingEndpoint {
  readonly row: Pick<WebhookRow, "events" | "disabled">;
  /** What its `channelPatterns` match; null: no channel. */
  readonly channels: { matches(channel: string): boolean } | null;
}

export interface AskingBook {
  of(app: AppId): readonly AskingEndpoint[];
  /** Applications with endpoints. */
  readonly apps: Iterable<AppId>;
  onChange(listener: (app: AppId) => void): void;
}

const OF_CONNECTIONS: readonly WebhookEventType[] = ["connection.opened", "connection.closed"];
const OF_MEMBERS: readonly WebhookEventType[] = ["channel.occupied", "channel.vacated", "peer.joined", "peer.left"];

export interface Asked {
  /** Types that are derived from rows. Empty: nothing is tracked. */
  readonly types: readonly WebhookEventType[];
  readonly connections: boolean;
  readonly members: boolean;
  /** Whether memberships of this channel are asked for. Reserved channels never are. */
  readonly covers: (channel: string) => boolean;
}

const NOTHING_ASKED: Asked = { types: [], connections: false, members: false, covers: () => false };

export function askedBy(endpoints: readonly AskingEndpoint[]): Asked {
  const live = endpoints.filter(({ row }) => row.disabled === null);
  const isAsked = (type: WebhookEventType): boolean => live.some(({ row }) => asksFor(row.events, type));
  const scopes = live.flatMap(({ row, channels }) =>
    channels && OF_MEMBERS.some((type) => asksFor(row.events, type)) ? [channels] : [],
  );
  const members = scopes.length > 0;
  const types = [...OF_CONNECTIONS, ...(members ? OF_MEMBERS : [])].filter(isAsked);
  if (types.length === 0) return NOTHING_ASKED;
  return {
    types,
    connections: OF_CONNECTIONS.some(isAsked),
    members,
    covers: (channel) => scopes.some((scope) => scope.matches(channel)),
  };
}
