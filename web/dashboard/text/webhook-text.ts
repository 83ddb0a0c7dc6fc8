/** Webhooks in sentences: events by what they are about, health, what became of an attempt. */
import type { WebhookEvent } from "../../../src/protocol/webhook-events.ts";
import type { Webhook, WebhookDelivery } from "../api/webhook-types.ts";

interface Subject {
  readonly title: string;
  readonly events: Readonly<Partial<Record<WebhookEvent, string>>>;
}

export const SUBJECTS: readonly Subject[] = [
  {
    title: "Connections",
    events: { "connection.opened": "A peer connects", "connection.closed": "A connection closes" },
  },
  {
    title: "Channels",
    events: {
      "channel.occupied": "A channel gets its first peer",
      "channel.vacated": "The last peer leaves a channel",
    },
  },
  { title: "Peers", events: { "peer.joined": "A peer joins a channel", "peer.left": "A peer leaves a channel" } },
  { title: "Messages", events: { "message.published": "Messages are published, in channels with history" } },
  {
    title: "Rooms",
    events: {
      "room.created": "A room is created",
      "room.updated": "A room is changed",
      "room.archived": "A room is archived",
    },
  },
  {
    title: "Meetings",
    events: {
      "meeting.started": "A meeting starts",
      "meeting.ended": "A meeting ends",
      "participant.joined": "A participant joins",
      "participant.left": "A participant leaves",
      "participant.waiting": "A visitor waits in the lobby",
    },
  },
  {
    title: "Recordings",
    events: { "recording.ready": "A recording is ready", "recording.deleted": "A recording is deleted" },
  },
  {
    title: "Keys and quotas",
    events: {
      "key.created": "A key is created",
      "key.rotated": "A key is rotated",
      "key.revoked": "A key is revoked",
      "quota.reached": "A quota is reached",
    },
  },
];

type Role = "good" | "warn" | "bad" | "";

export interface Health {
  readonly kind: Role;
  readonly text: string;
  /** When it has become so. */
  readonly since?: number | null;
  /** Why, in short. */
  readonly why?: string | undefined;
}

const DISABLED = {
  request: { kind: "", why: "switched off" },
  gone: { kind: "bad", why: "it responded with 410 Gone" },
  failing: { kind: "bad", why: "nothing succeeded for five days" },
} as const;

export function healthOf({ disabled, disabledReason, disabledAt, canSign, health }: Webhook): Health {
  if (disabled) return { text: "disabled", since: disabledAt, ...DISABLED[disabledReason ?? "request"] };
  if (!canSign) return { kind: "bad", text: "cannot sign", why: "the master key cannot decrypt its secret" };
  if (health.state === "failing")
    return { kind: "warn", text: "failing", since: health.failingSince, why: lastAnswer(health) };
  if (health.state === "new") return { kind: "", text: "nothing sent yet" };
  return { kind: "good", text: "delivering" };
}

/** What came back last: "500", "no answer within 15 s". */
export const lastAnswer = ({ lastStatus, lastError }: Webhook["health"]): string | undefined =>
  lastStatus === null ? (lastError ?? undefined) : `status ${lastStatus}`;

/** What came of an attempt, for its badge. */
export const outcomeOf = ({ status }: Pick<WebhookDelivery, "status">): string =>
  status === null ? "no response" : String(status);

/** The name under which people know a webhook. */
export function nameOf({ description, url }: Pick<Webhook, "description" | "url">): string {
  if (description !== null) return description;
  return URL.canParse(url) ? new URL(url).host : url;
}

/** Patterns of events as lists show them. */
export const shown = (events: readonly string[]): string[] => events.map((one) => (one === "*" ? "* (all)" : one));
