/**
 * The addresses in the four URL fields of rooms as endpoints: one per application and URL. Their id and their secret follow from both, so
 * that a room needs no further call to have its events sent, and each node knows them without asking.
 */
import type { Vault } from "../../access/keys/vault.ts";
import type { AppId } from "../../base/ids.ts";
import type { WebhookEventType } from "../../store/contract/webhooks.ts";
import { SECRET_BYTES } from "../limits.ts";

const ID_BYTES = 12;

export const roomEndpointId = (vault: Pick<Vault, "derive">, app: AppId, url: string): string =>
  vault.derive(`webhooks of rooms: id ${app} ${url}`).subarray(0, ID_BYTES).toString("hex");

export const roomEndpointKey = (vault: Pick<Vault, "derive">, app: AppId, url: string): Buffer =>
  vault.derive(`webhooks of rooms: secret ${app} ${url}`).subarray(0, SECRET_BYTES);

/** The field of a room whose URL gets the events of a type. */
export const ROOM_URL_FIELDS = {
  "participant.joined": "meetingJoinWebhook",
  "participant.left": "meetingLeftWebhook",
  "meeting.started": "meetingStartedWebhook",
  "meeting.ended": "meetingEndedWebhook",
} as const satisfies Partial<Record<WebhookEventType, string>>;
