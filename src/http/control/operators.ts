/** Control plane: operators, who have tokens of their own. */
import { z } from "zod";
import { isReservedName } from "../../access/operators/operator.ts";
import type { Operators } from "../../access/operators/operators.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { hasControl, isWellFormed } from "../../protocol/names.ts";
import type { OperatorRow } from "../../store/contract/operators.ts";
import type { OperatorGuards } from "../guards/operator.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { toSeconds, toSecondsOrNull, unixSeconds } from "../shared/schemas.ts";
import { pageOf, paging } from "./paging.ts";

const NAME_MAX_CHARS = 64;

const name = lazily(() =>
  z
    .string()
    .min(1)
    // A longer one is not normalised, which takes seconds for a long pile of combining marks.
    .max(NAME_MAX_CHARS, { error: `must have at most ${NAME_MAX_CHARS} characters`, abort: true })
    .refine((text) => !hasControl(text) && isWellFormed(text), "must be text without control characters")
    .refine((text) => text.trim() === text, "must not begin or end with a space")
    .refine(
      (text) => !isReservedName(text),
      "must not be admin, application secret, command line or the id of a key: the audit names others by these",
    ),
);

const role = lazily(() =>
  z.enum(["admin", "read"]).describe("read: sees everything except secrets and payloads, and cannot change anything"),
);

const operator = lazily(() =>
  z
    .object({
      _id: z.string(),
      name: z.string(),
      role: role(),
      created: unixSeconds(),
      lastUsed: unixSeconds().nullable().describe("To the minute; null: never"),
    })
    .meta({ id: "Operator" }),
);

const operatorFields = (row: OperatorRow): Infer<typeof operator> => ({
  _id: row.id,
  name: row.name,
  role: row.role,
  created: toSeconds(row.created),
  lastUsed: toSecondsOrNull(row.lastUsed),
});

export function operatorEndpoints(guards: OperatorGuards, operators: Operators, audit: Audit): Endpoint[] {
  const tag = "operators";
  const root = "/api/internal/v1/operators";
  return [
    endpoint({
      tag,
      guard: guards.operator,
      scope: "service",
      method: "GET",
      path: root,
      summary: "List operators, without revoked ones",
      query: paging,
      response: () => z.object({ data: z.array(operator()), next: z.string().nullable() }),
      handle: async (_call, { query: { limit, after = "" } }) => {
        const rows = (await operators.list()).filter((row) => row.id > after);
        return pageOf(rows.slice(0, limit + 1), limit, (row) => row.id, operatorFields);
      },
    }),
    endpoint({
      tag,
      guard: guards.admin,
      scope: "service",
      method: "POST",
      path: root,
      summary: "Create an operator; only this response contains the token",
      body: () => z.strictObject({ name: name(), role: role() }),
      response: () => operator().extend({ token: z.string() }).meta({ id: "CreatedOperator" }),
      problems: ["conflict"],
      handle: async (call, { caller, body }) => {
        const { row, token } = await operators.create(body.name, body.role);
        await audit(call, caller, { what: "operator created", on: row.name, after: { id: row.id, role: row.role } });
        return { ...operatorFields(row), token };
      },
    }),
    endpoint({
      tag,
      guard: guards.admin,
      scope: "service",
      method: "DELETE",
      path: `${root}/:id`,
      summary: "Revoke an operator: the token, its sessions and their streams end on every node",
      response: () => operator().extend({ revoked: unixSeconds() }).meta({ id: "RevokedOperator" }),
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const row = await operators.revoke(call.params.id ?? "");
        await audit(call, caller, { what: "operator revoked", on: row.name, after: { id: row.id } });
        return { ...operatorFields(row), revoked: toSecondsOrNull(row.revoked) };
      },
    }),
  ];
}
