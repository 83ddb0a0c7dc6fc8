/** Builds webhooks: the endpoints, what they were sent, and the process that sends. */
import { randomUUID } from "node:crypto";
import { systemClock as clock } from "../../base/clock.ts";
import { recordingFields } from "../../http/shared/recording-schemas.ts";
import { type WebhookDeliveries, WebhookTests } from "../../http/shared/webhook-deliveries.ts";
import { recordOf } from "../../rooms/rooms.ts";
import { guardedClock } from "../../telemetry/guarded-clock.ts";
import { FanOut } from "../../webhooks/delivery/fan-out.ts";
import { WebhookLeader } from "../../webhooks/delivery/leader.ts";
import { WebhookMetrics } from "../../webhooks/delivery/metrics.ts";
import { WebhookService } from "../../webhooks/delivery/service.ts";
import { Deriving } from "../../webhooks/deriving/deriving.ts";
import { WebhookEndpoints } from "../../webhooks/endpoints/endpoints.ts";
import type { Records } from "../../webhooks/events/data.ts";
import { Sender } from "../../webhooks/sending/sender.ts";
import { MessageStreams } from "../../webhooks/streams/message-streams.ts";
import type { Access } from "./access.ts";
import type { NodeContext } from "./context.ts";
import { addressCheckOf, webhookRules } from "./webhook-guard.ts";

export interface Webhooks {
  readonly endpoints: WebhookEndpoints;
  readonly deliveries: WebhookDeliveries;
  readonly tests: WebhookTests;
  readonly leader: WebhookLeader;
  /** After what is under way has ended, or has taken too long. */
  readonly stop: () => Promise<void>;
}

interface WebhookParts extends NodeContext {
  readonly access: Pick<Access, "vault" | "keyring" | "webhookBook">;
}

/** As the APIs show them. */
const RECORDS: Records = { room: recordOf, recording: recordingFields };

export function buildWebhooks(parts: WebhookParts): Webhooks {
  const { config, store, log, access } = parts;
  const { vault, keyring, webhookBook: book } = access;
  const rules = webhookRules(config);
  const endpoints = new WebhookEndpoints({
    store,
    keyring,
    vault,
    book,
    addressCheck: addressCheckOf(rules),
    nowMs: clock.wallMs,
  });
  const sender = new Sender({
    rules,
    clock: guardedClock(clock, parts.faults),
    died: (how) =>
      log.warn({ how }, "the process that sends webhooks has ended; it restarts when there is something to send"),
  });
  const leader = buildLeader(parts, endpoints, sender);
  const deliveries: WebhookDeliveries = new WebhookService({
    store: store.webhooks,
    recipient: (id) => book.get(id),
    app: (id) => keyring.app(id),
    records: RECORDS,
    sender,
    leader,
    clock,
  });
  const stop = async (): Promise<void> => {
    await leader.stop();
    await sender.stop();
  };
  return { endpoints, deliveries, tests: new WebhookTests(deliveries), leader, stop };
}

function buildLeader(parts: WebhookParts, endpoints: WebhookEndpoints, sender: Sender): WebhookLeader {
  const { store, log, faults, access } = parts;
  const { keyring, webhookBook: book } = access;
  const metrics = new WebhookMetrics(parts.metrics);
  const fanOut = new FanOut({
    store: store.webhooks,
    rooms: store.rooms,
    recipients: (app) => book.of(app),
    ofRoomUrl: (app, url) => endpoints.ofRoomUrl(app, url),
    app: (id) => keyring.app(id),
    records: RECORDS,
    nowMs: clock.wallMs,
    metrics,
    log,
  });
  const deriving = new Deriving({ store: store.tracking, book, clock });
  const messages = new MessageStreams({
    store: store.webhooks,
    history: parts.history,
    book,
    clock,
    gaps: parts.metrics.counter(
      "parley_webhook_gaps_total",
      "Events message.published before which messages were gone from the history.",
    ),
  });
  const leader = new WebhookLeader({
    store: store.webhooks,
    isShared: store.isShared,
    endpoints: () => [...book.ids],
    recipient: (id) => book.get(id),
    fanOut,
    works: [deriving, messages],
    sender,
    disable: (id, why) => endpoints.disable(id, why),
    clock: guardedClock(clock, faults),
    random: Math.random,
    holder: randomUUID(),
    metrics,
    log,
  });
  book.onChange(() => leader.nudge());
  return leader;
}
