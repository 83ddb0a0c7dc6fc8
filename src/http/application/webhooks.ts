/**
 * Webhooks over HTTP: `/api/v1/webhooks`. A backend manages those that it has made; those of operators, which may have addresses inside the
 * operator's network, do not exist for it.
 */
import { z } from "zod";
import type { AppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { WebhookEndpoints, WebhookName } from "../../webhooks/endpoints/endpoints.ts";
import { ENDPOINTS_PER_APP_MAX } from "../../webhooks/limits.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import type { Call } from "../request/call.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { APPLICATION_SECRET, type AppAudit } from "../shared/audit.ts";
import { idOf } from "../shared/recording-schemas.ts";
import { roomNameOf } from "../shared/room-schemas.ts";
import type { RoomWebhookSecrets } from "../shared/room-webhook-secrets.ts";
import { limit, toSeconds } from "../shared/schemas.ts";
import {
  applicationDeliveryQuery,
  delivery,
  deliveryPage,
  replayed,
  replayRequest,
  resend,
  resent,
  tested,
  type WebhookDeliveries,
  type WebhookTests,
} from "../shared/webhook-deliveries.ts";
import {
  createdWebhook,
  newWebhook,
  roomSecrets,
  rotatedWebhook,
  rotation,
  toEdit,
  toFields,
  webhook,
  webhookEdit,
  webhookFields,
} from "../shared/webhook-schemas.ts";

const page = lazily(() =>
  z
    .object({
      data: z.array(webhook()),
      total: z.int(),
      limit: z.int(),
      currEndId: z.string().describe("endId of the next page; empty on an empty page"),
    })
    .meta({ id: "WebhookPage" }),
);

const deliveries = lazily(() =>
  z
    .object({
      data: z.array(delivery()),
      limit: z.int(),
      currEndId: z.string().describe("endId of the next page; empty on the last one"),
    })
    .meta({ id: "WebhookDeliveryPage" }),
);

const done = lazily(() => z.object({ success: z.literal(true), message: z.string() }));

interface WebhookParts {
  readonly endpoints: WebhookEndpoints;
  readonly deliveries: WebhookDeliveries;
  readonly tests: WebhookTests;
  readonly secretsOfRoom: RoomWebhookSecrets;
  readonly rotationGraceSeconds: number;
  readonly audit: AppAudit;
  readonly nowMs: () => number;
}

const OWN = ["application"] as const;
/** A backend sees what it has made as it is. */
const SIGHT = { secrets: true } as const;
const ALL = "/api/v1/webhooks";
const ONE = `${ALL}/:id`;

const nameIn = (app: AppRow, call: Call): WebhookName => ({ app: app.id, id: idOf(call), kinds: OWN });

export function applicationWebhookEndpoints(guards: ApplicationGuards, parts: WebhookParts): Endpoint[] {
  return [...managing(guards, parts), ...sending(guards, parts)];
}

function managing({ secretKey: guard }: ApplicationGuards, parts: WebhookParts): Endpoint[] {
  const { endpoints, nowMs } = parts;
  const base = { tag: "webhooks", guard } as const;
  /** Only the names of the fields: addresses can hold secrets. */
  const changed = (call: Call, app: AppId, what: string, on: string, body: object = {}): void => {
    const fields = Object.keys(body);
    parts.audit(call, APPLICATION_SECRET, { what, on, app, ...(fields.length > 0 && { after: { fields } }) });
  };
  const shown = async (name: WebhookName): Promise<Infer<typeof webhook>> => {
    const entry = endpoints.get(name);
    const [state] = await parts.deliveries.states([name.id]);
    return webhookFields(entry, state, SIGHT, nowMs());
  };
  return [
    endpoint({
      ...base,
      method: "POST",
      path: ALL,
      summary: "Create a webhook; only this response contains its secret",
      body: newWebhook,
      response: createdWebhook,
      problems: ["conflict"],
      handle: async (call, { caller, body }) => {
        const { row, secret } = await endpoints.create(caller.id, "application", toFields(body));
        changed(call, caller.id, "webhook created", row.id, body);
        return { ...(await shown({ app: caller.id, id: row.id })), secret };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: ALL,
      summary: "List the webhooks that the application has made itself, oldest first",
      query: () =>
        z.object({
          limit: limit(ENDPOINTS_PER_APP_MAX, ENDPOINTS_PER_APP_MAX),
          endId: z.string().optional().describe("currEndId of the previous page"),
        }),
      response: page,
      handle: async (_call, { caller, query: { limit: max, endId } }) => {
        const all = endpoints.list(caller.id, OWN);
        const from = endId === undefined ? 0 : all.findIndex(({ row }) => row.id === endId) + 1;
        const entries = all.slice(from, from + max);
        const states = await parts.deliveries.states(entries.map(({ row }) => row.id));
        const stateOf = new Map(states.map((state) => [state.webhook, state]));
        return {
          data: entries.map((entry) => webhookFields(entry, stateOf.get(entry.row.id), SIGHT, nowMs())),
          total: all.length,
          limit: max,
          currEndId: entries.at(-1)?.row.id ?? "",
        };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: ONE,
      summary: "One webhook, with its health",
      response: webhook,
      problems: ["webhook_not_found"],
      handle: (call, { caller }) => shown(nameIn(caller, call)),
    }),
    endpoint({
      ...base,
      method: "PATCH",
      path: ONE,
      summary: "Change the given fields; disabled: false enables it again",
      body: webhookEdit,
      response: webhook,
      problems: ["webhook_not_found", "internal_error"],
      handle: async (call, { caller, body }) => {
        const { after } = await endpoints.edit(nameIn(caller, call), toEdit(body));
        changed(call, caller.id, "webhook edited", after.id, body);
        return shown({ app: caller.id, id: after.id });
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: ONE,
      summary: "Delete a webhook, its pending events and its log",
      response: done,
      problems: ["webhook_not_found"],
      handle: async (call, { caller }) => {
        const { id } = await endpoints.remove(nameIn(caller, call));
        changed(call, caller.id, "webhook deleted", id);
        return { success: true, message: "Webhook successfully deleted" };
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${ONE}/rotate`,
      summary: "Rotate a webhook's secret; during the grace period the previous one also signs",
      body: rotation,
      response: rotatedWebhook,
      problems: ["webhook_not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const graceSeconds = body.graceSec ?? parts.rotationGraceSeconds;
        const { row, secret, previousEndsMs } = await endpoints.rotate(nameIn(caller, call), graceSeconds);
        changed(call, caller.id, "webhook rotated", row.id);
        return { _id: row.id, secret, previousSecretExpiresAt: toSeconds(previousEndsMs) };
      },
    }),
  ];
}

function sending({ secretKey: guard }: ApplicationGuards, parts: WebhookParts): Endpoint[] {
  const { endpoints } = parts;
  const base = { tag: "webhooks", guard } as const;
  const changed = (call: Call, app: AppId, what: string, on: string, after?: Readonly<Record<string, unknown>>): void =>
    parts.audit(call, APPLICATION_SECRET, { what, on, app, ...(after && { after }) });
  const idIn = (app: AppRow, call: Call): string => endpoints.get(nameIn(app, call)).row.id;
  return [
    endpoint({
      ...base,
      method: "GET",
      path: `${ONE}/deliveries`,
      summary:
        "A webhook's deliveries, newest first: the newest 1,000 attempts, and every failure of the last seven days",
      query: applicationDeliveryQuery,
      response: deliveries,
      problems: ["webhook_not_found"],
      handle: async (call, { caller, query: { endId, ...query } }) => {
        const sight = { secrets: true, payloads: caller.consolePayloads };
        const { data, next } = await deliveryPage(
          parts.deliveries,
          idIn(caller, call),
          { ...query, after: endId },
          sight,
        );
        return { data, limit: query.limit, currEndId: next ?? "" };
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${ONE}/deliveries/:delivery/resend`,
      summary: "Resend a delivery's event, with the same webhook-id and seq",
      response: resent,
      problems: ["webhook_not_found", "not_found"],
      handle: async (call, { caller }) => {
        const id = idIn(caller, call);
        const sent = await resend(parts.deliveries, id, call.params.delivery ?? "");
        changed(call, caller.id, "webhook event resent", id, sent);
        return sent;
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${ONE}/replay`,
      summary: "Resend all events since a given time that have not succeeded",
      body: replayRequest,
      response: replayed,
      problems: ["webhook_not_found"],
      handle: async (call, { caller, body: { since } }) => {
        const id = idIn(caller, call);
        const events = await parts.deliveries.replay(id, since * 1000);
        changed(call, caller.id, "webhook replayed", id, { since: new Date(since * 1000).toISOString(), events });
        return { events };
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${ONE}/test`,
      summary: "Send a webhook.test event now, and return the response",
      response: tested,
      problems: ["webhook_not_found", "internal_error"],
      handle: async (call, { caller }) => {
        const id = idIn(caller, call);
        const outcome = await parts.tests.run(id, caller.id);
        changed(call, caller.id, "webhook tested", id, { status: outcome.status });
        return outcome;
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: "/api/v1/room/:roomName/webhook-secrets",
      summary: "The secrets that sign requests to a room's URL fields",
      response: roomSecrets,
      problems: ["room_not_found"],
      handle: (call, { caller }) => parts.secretsOfRoom(caller.id, roomNameOf(call)),
    }),
  ];
}
