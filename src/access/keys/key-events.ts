/** Events of keys for webhooks, without secrets. */
import type { KeyRow } from "../../store/contract/store.ts";
import type { NewWebhookEvent } from "../../store/contract/webhooks.ts";

export const keyEvent = (
  type: "key.created" | "key.rotated" | "key.revoked",
  { app, id, type: keyType, label, channelPatterns, actions }: KeyRow,
  happened: number,
): NewWebhookEvent => ({
  app,
  subject: id,
  happened,
  webhook: null,
  fact: { type, key: { id, type: keyType, label, channelPatterns, actions } },
});
