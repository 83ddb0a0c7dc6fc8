/** The webhook in the path of a control-plane call. */
import type { AppRow } from "../../store/contract/store.ts";
import type { WebhookName } from "../../webhooks/endpoints/endpoints.ts";
import type { Call } from "../request/call.ts";
import { idOf } from "../shared/recording-schemas.ts";

export const WEBHOOKS_PATH = "/api/internal/v1/apps/:app/webhooks";

/** Operators see webhooks of every kind. */
export const nameIn = (app: AppRow, call: Call): WebhookName => ({ app: app.id, id: idOf(call) });
