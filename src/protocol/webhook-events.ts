/** The types of events that webhooks send, and the patterns with which an endpoint asks for them: `recording.ready`, `channel.*`, `*`. */

/** In the order of the documentation. `webhook.test` is not asked for: it goes to the endpoint that is tested. */
export const WEBHOOK_EVENTS = [
  "connection.opened",
  "connection.closed",
  "channel.occupied",
  "channel.vacated",
  "peer.joined",
  "peer.left",
  "message.published",
  "room.created",
  "room.updated",
  "room.archived",
  "meeting.started",
  "meeting.ended",
  "participant.joined",
  "participant.left",
  "participant.waiting",
  "recording.ready",
  "recording.deleted",
  "key.created",
  "key.rotated",
  "key.revoked",
  "quota.reached",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** `channel.occupied` → `channel.*`. */
export const groupOf = (type: string): string => `${type.slice(0, type.indexOf("."))}.*`;

/** Whether an endpoint with these patterns asks for events of this type. */
export const asksFor = (patterns: readonly string[], type: string): boolean =>
  patterns.some((pattern) => pattern === type || pattern === "*" || pattern === groupOf(type));

/** Events of which an endpoint gets those of the channels that its `channelPatterns` match. */
export const isOfChannels = (type: string): boolean => /^(?:channel|peer|message)\./.test(type);
