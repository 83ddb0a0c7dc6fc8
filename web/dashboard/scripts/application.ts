/** What belongs to an application: keys and webhooks. */
import "./shared.ts";

export { Key } from "../pages/keys/key.tsx";
export { Keys } from "../pages/keys/keys.tsx";
export { NewApp } from "../pages/keys/new-app.tsx";
export { Webhook } from "../pages/webhooks/webhook.tsx";
export { Webhooks } from "../pages/webhooks/webhooks.tsx";
