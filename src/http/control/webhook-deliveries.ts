/** Control plane: what a webhook has sent, and what it is asked to send: a test, an event again, all that has not succeeded. */
import { z } from "zod";
import type { WebhookEndpoints, WebhookName } from "../../webhooks/endpoints/endpoints.ts";
import type { ListGuards } from "../guards/operator.ts";
import type { Call } from "../request/call.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { roomNameOf } from "../shared/room-schemas.ts";
import type { RoomWebhookSecrets } from "../shared/room-webhook-secrets.ts";
import {
  delivery,
  deliveryPage,
  deliveryQuery,
  replayed,
  replayRequest,
  resend,
  resent,
  tested,
  type WebhookDeliveries,
  type WebhookTests,
} from "../shared/webhook-deliveries.ts";
import { roomSecrets } from "../shared/webhook-schemas.ts";
import type { AppIn } from "./app-in.ts";
import { inControlPlane } from "./application-calls.ts";
import { nameIn, WEBHOOKS_PATH } from "./webhook-path.ts";

interface WebhookDeliveryParts {
  readonly appIn: AppIn;
  readonly endpoints: WebhookEndpoints;
  readonly deliveries: WebhookDeliveries;
  readonly tests: WebhookTests;
  readonly secretsOfRoom: RoomWebhookSecrets;
  readonly audit: Audit;
}

export function webhookDeliveryEndpoints(guards: ListGuards, parts: WebhookDeliveryParts): Endpoint[] {
  const { appIn, endpoints, deliveries, audit } = parts;
  const change = { tag: "webhooks", guard: guards.admin, scope: "app" } as const;
  const one = `${WEBHOOKS_PATH}/:id`;
  /** Throws `not_found` if the application has no such webhook. */
  const existing = async (call: Call): Promise<WebhookName> => {
    const name = nameIn(await appIn(call), call);
    await inControlPlane(Promise.resolve().then(() => endpoints.get(name)));
    return name;
  };
  return [
    endpoint({
      tag: "webhooks",
      guard: guards.lists,
      scope: "app",
      method: "GET",
      path: `${one}/deliveries`,
      summary:
        "A webhook's deliveries, newest first: the newest 1,000 attempts, and every failure of the last seven days",
      query: deliveryQuery,
      response: () => z.object({ data: z.array(delivery()), next: z.string().nullable() }),
      problems: ["not_found"],
      handle: async (call, { caller, query }) => {
        const app = await appIn(call);
        const { id } = await existing(call);
        return deliveryPage(deliveries, id, query, { secrets: caller.role === "admin", payloads: app.consolePayloads });
      },
    }),
    endpoint({
      ...change,
      method: "POST",
      path: `${one}/deliveries/:delivery/resend`,
      summary: "Resend a delivery's event, with the same webhook-id and seq",
      response: resent,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const { app, id } = await existing(call);
        const sent = await resend(deliveries, id, call.params.delivery ?? "");
        await audit(call, caller, { what: "webhook event resent", on: id, app, after: sent });
        return sent;
      },
    }),
    endpoint({
      ...change,
      method: "POST",
      path: `${one}/replay`,
      summary: "Resend all events since a given time that have not succeeded",
      body: replayRequest,
      response: replayed,
      problems: ["not_found"],
      handle: async (call, { caller, body: { since } }) => {
        const { app, id } = await existing(call);
        const events = await deliveries.replay(id, since * 1000);
        const after = { since: new Date(since * 1000).toISOString(), events };
        await audit(call, caller, { what: "webhook replayed", on: id, app, after });
        return { events };
      },
    }),
    endpoint({
      ...change,
      method: "POST",
      path: `${one}/test`,
      summary: "Send a webhook.test event now, and return the response",
      response: tested,
      problems: ["not_found", "internal_error"],
      handle: async (call, { caller }) => {
        const { app, id } = await existing(call);
        const outcome = await parts.tests.run(id, app);
        await audit(call, caller, { what: "webhook tested", on: id, app, after: { status: outcome.status } });
        return outcome;
      },
    }),
    endpoint({
      ...change,
      method: "GET",
      path: "/api/internal/v1/apps/:app/rooms/:roomName/webhook-secrets",
      summary: "The secrets that sign requests to a room's URL fields",
      response: roomSecrets,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const { id: app } = await appIn(call);
        const found = await inControlPlane(parts.secretsOfRoom(app, roomNameOf(call)));
        await audit(call, caller, { what: "room webhook secrets shown", on: roomNameOf(call), app });
        return found;
      },
    }),
  ];
}
