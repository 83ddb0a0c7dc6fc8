/** Methods of the contracts of webhooks that travel between a worker and the server (methods.ts). */
import type { TrackingStore } from "../store/contract/tracking.ts";
import type { WebhookStore } from "../store/contract/webhooks.ts";
import type { Listed } from "./listed.ts";

export const tracking: Listed<TrackingStore> = {
  begin: true,
  write: true,
  beat: true,
  leave: true,
  count: true,
  clear: true,
  derive: true,
  reconcile: true,
  trackedApps: true,
  forgetRows: true,
  quotaReached: true,
};

export const webhooks: Listed<WebhookStore> = {
  takeLease: true,
  renewLease: true,
  releaseLease: true,
  events: true,
  addEvents: true,
  enter: true,
  waiting: true,
  due: true,
  settle: true,
  states: true,
  recover: true,
  message: true,
  attempts: true,
  attempt: true,
  resend: true,
  replay: true,
  trim: true,
  forget: true,
  cursors: true,
  advance: true,
};
