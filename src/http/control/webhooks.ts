/** Control plane: the webhooks of an application. Operators see those that its backends have made and the URLs of its rooms, too. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import type { Infer } from "../../base/lazily.ts";
import type { WebhookEndpoints, WebhookName } from "../../webhooks/endpoints/endpoints.ts";
import type { ListGuards } from "../guards/operator.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { type Audit, changedFields } from "../shared/audit.ts";
import { toSeconds } from "../shared/schemas.ts";
import type { WebhookDeliveries } from "../shared/webhook-deliveries.ts";
import {
  auditedWebhook,
  createdWebhook,
  newWebhook,
  rotatedWebhook,
  rotation,
  toEdit,
  toFields,
  webhook,
  webhookEdit,
  webhookFields,
} from "../shared/webhook-schemas.ts";
import type { AppIn } from "./app-in.ts";
import { inControlPlane } from "./application-calls.ts";
import { pageOf, paging } from "./paging.ts";
import { nameIn, WEBHOOKS_PATH } from "./webhook-path.ts";

interface WebhookParts {
  readonly appIn: AppIn;
  readonly endpoints: WebhookEndpoints;
  readonly deliveries: Pick<WebhookDeliveries, "states">;
  readonly rotationGraceSeconds: number;
  readonly audit: Audit;
  readonly nowMs: () => number;
}

export function webhookEndpoints(guards: ListGuards, parts: WebhookParts): Endpoint[] {
  const { appIn, endpoints, audit, nowMs } = parts;
  const change = { tag: "webhooks", guard: guards.admin, scope: "app" } as const;
  const read = { tag: "webhooks", guard: guards.lists, scope: "app" } as const;
  const one = `${WEBHOOKS_PATH}/:id`;
  const shown = async (name: WebhookName, caller: Operator): Promise<Infer<typeof webhook>> => {
    const entry = endpoints.get(name);
    const [state] = await parts.deliveries.states([name.id]);
    return webhookFields(entry, state, { secrets: caller.role === "admin" }, nowMs());
  };
  return [
    endpoint({
      ...change,
      method: "POST",
      path: WEBHOOKS_PATH,
      summary: "Create a webhook; only this response contains its secret",
      body: newWebhook,
      response: createdWebhook,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const app = await appIn(call);
        const { row, secret } = await endpoints.create(app.id, "control", toFields(body));
        await audit(call, caller, { what: "webhook created", on: row.id, app: app.id, after: auditedWebhook(row) });
        return { ...(await shown({ app: app.id, id: row.id }, caller)), secret };
      },
    }),
    endpoint({
      ...read,
      method: "GET",
      path: WEBHOOKS_PATH,
      summary: "List the webhooks of an application, oldest first, with their health",
      query: paging,
      response: () => z.object({ data: z.array(webhook()), next: z.string().nullable() }),
      problems: ["not_found"],
      handle: async (call, { caller, query: { limit, after } }) => {
        const all = endpoints.list((await appIn(call)).id);
        const from = after === undefined ? 0 : all.findIndex(({ row }) => row.id === after) + 1;
        const page = pageOf(
          all.slice(from, from + limit + 1),
          limit,
          ({ row }) => row.id,
          (entry) => entry,
        );
        const states = await parts.deliveries.states(page.data.map(({ row }) => row.id));
        const stateOf = new Map(states.map((state) => [state.webhook, state]));
        const sight = { secrets: caller.role === "admin" };
        return {
          data: page.data.map((entry) => webhookFields(entry, stateOf.get(entry.row.id), sight, nowMs())),
          next: page.next,
        };
      },
    }),
    endpoint({
      ...read,
      method: "GET",
      path: one,
      summary: "One webhook, with its health",
      response: webhook,
      problems: ["not_found"],
      handle: async (call, { caller }) => inControlPlane(shown(nameIn(await appIn(call), call), caller)),
    }),
    endpoint({
      ...change,
      method: "PATCH",
      path: one,
      summary: "Change the given fields; disabled: false enables it again",
      body: webhookEdit,
      response: webhook,
      problems: ["not_found", "conflict", "internal_error"],
      handle: async (call, { caller, body }) => {
        const app = await appIn(call);
        const { before, after } = await inControlPlane(endpoints.edit(nameIn(app, call), toEdit(body)));
        await audit(call, caller, {
          what: "webhook edited",
          on: after.id,
          app: app.id,
          ...changedFields(auditedWebhook(before), auditedWebhook(after)),
        });
        return inControlPlane(shown({ app: app.id, id: after.id }, caller));
      },
    }),
    endpoint({
      ...change,
      method: "DELETE",
      path: one,
      summary: "Delete a webhook, its pending events and its log",
      response: webhook,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller }) => {
        const app = await appIn(call);
        const name = nameIn(app, call);
        const last = await inControlPlane(shown(name, caller));
        await inControlPlane(endpoints.remove(name));
        await audit(call, caller, { what: "webhook deleted", on: name.id, app: app.id });
        return last;
      },
    }),
    endpoint({
      ...change,
      method: "POST",
      path: `${one}/rotate`,
      summary: "Rotate a webhook's secret; during the grace period the previous one also signs",
      body: rotation,
      response: rotatedWebhook,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const app = await appIn(call);
        const graceSeconds = body.graceSec ?? parts.rotationGraceSeconds;
        const { row, secret, previousEndsMs } = await inControlPlane(endpoints.rotate(nameIn(app, call), graceSeconds));
        await audit(call, caller, {
          what: "webhook rotated",
          on: row.id,
          app: app.id,
          after: { previousEnds: new Date(previousEndsMs).toISOString() },
        });
        return { _id: row.id, secret, previousSecretExpiresAt: toSeconds(previousEndsMs) };
      },
    }),
  ];
}
