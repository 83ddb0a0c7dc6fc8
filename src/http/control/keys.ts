/** Control plane: create, edit, rotate and revoke keys; find out why a token is refused. */
import { z } from "zod";
import type { Follower } from "../../access/admission/store-follower.ts";
import type { Directory, KeyEdit } from "../../access/keys/directory.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import { verifyToken } from "../../access/tokens/token.ts";
import { TokenRefusal } from "../../access/tokens/token-refusal.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { actionList } from "../../protocol/actions.ts";
import { Problem } from "../../protocol/codes.ts";
import type { KeyRow } from "../../store/contract/store.ts";
import type { ListGuards } from "../guards/operator.ts";
import type { TokenChecks } from "../guards/token-checks.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { type Audit, changedFields } from "../shared/audit.ts";
import {
  actions,
  graceSec,
  label,
  origins,
  patterns,
  retirePrevious,
  toSeconds,
  unixSeconds,
} from "../shared/schemas.ts";
import type { KeyConnections } from "./key-connections.ts";
import { key, keyFields } from "./key-fields.ts";
import { pageOf, paging } from "./paging.ts";

const type = lazily(() => z.enum(["publishable", "secret"]));

const turn = lazily(() =>
  z.boolean().describe("Gives ICE servers with TURN credentials to those who connect. Absent: false."),
);

const create = lazily(() =>
  z
    .strictObject({
      app: z.string().describe("Id or name of the application."),
      type: type(),
      channelPatterns: patterns(),
      actions: actions(),
      allowedOrigins: origins().describe("Required for a publishable key, refused for a secret one.").optional(),
      turn: turn().optional(),
      label: label().optional(),
    })
    .superRefine((body, context) => {
      if (body.type === "publishable" && !body.allowedOrigins)
        context.addIssue({
          code: "custom",
          path: ["allowedOrigins"],
          message: "is required for a publishable key ([] allows no browser)",
        });
      if (body.type === "secret" && body.allowedOrigins)
        context.addIssue({
          code: "custom",
          path: ["allowedOrigins"],
          message: "does not apply to a secret key, which browsers must never have",
        });
    }),
);

const edit = lazily(() =>
  z.strictObject({
    channelPatterns: patterns().optional(),
    actions: actions().optional(),
    allowedOrigins: origins().optional(),
    turn: turn().describe("Acts on the next connect.").optional(),
    label: label().optional(),
  }),
);

const rotate = lazily(() =>
  z.strictObject({
    graceSec: graceSec().describe("How long the current secret still verifies. Absent: PARLEY_ROTATION_GRACE_SECONDS."),
    retirePrevious: retirePrevious(),
  }),
);

const checked = lazily(() =>
  z
    .object({
      valid: z.boolean(),
      error: z.string().describe("The code a connect would get.").optional(),
      reason: z.string().describe("The exact reason for the refusal.").optional(),
      keyId: z.string().optional(),
      app: z.string().optional(),
      peerId: z.string().optional(),
      expiresAt: unixSeconds().optional(),
      channels: z.array(z.string()).optional(),
      permissions: actions().optional(),
    })
    .meta({ id: "CheckedToken" }),
);

/** Only the fields in the body are changed; null clears the label. */
const toEdit = (body: Infer<typeof edit>): KeyEdit => ({
  ...(body.channelPatterns && { channelPatterns: body.channelPatterns }),
  ...(body.actions && { actions: body.actions }),
  ...(body.allowedOrigins && { allowedOrigins: body.allowedOrigins }),
  ...(body.turn !== undefined && { turn: body.turn }),
  ...(body.label !== undefined && { label: body.label }),
});

interface KeyParts {
  readonly directory: Directory;
  readonly keyring: Keyring;
  readonly audit: Audit;
  readonly nowMs: () => number;
  readonly rotationGraceSeconds: number;
  /** Present if other nodes can change keys. */
  readonly storeFollower?: Follower | undefined;
  readonly connectionsOf: KeyConnections;
  readonly tokenChecks: TokenChecks;
}

export function keyEndpoints(guards: ListGuards, parts: KeyParts): Endpoint[] {
  const { directory, audit } = parts;
  const base = { tag: "keys", guard: guards.admin, scope: "app" } as const;
  const reading = { tag: "keys", guard: guards.lists, scope: "app" } as const;
  const fieldsOf = (row: KeyRow): Infer<typeof key> => keyFields(row, parts);
  const root = "/api/internal/v1/signalling/keys";
  const one = `${root}/:keyId`;
  const idOf = (call: { params: Readonly<Record<string, string>> }): string => call.params.keyId ?? "";
  return [
    endpoint({
      ...base,
      method: "POST",
      path: root,
      summary: "Create a key; only this response contains a secret key's secret",
      body: create,
      response: () => key().extend({ secret: z.string().optional() }).meta({ id: "CreatedKey" }),
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const made = await directory.createKey({
          ...body,
          allowedOrigins: body.allowedOrigins ?? null,
          turn: body.turn ?? false,
          label: body.label ?? null,
        });
        const { type, label, channelPatterns, actions, allowedOrigins, turn } = made.key;
        await audit(call, caller, {
          what: "key created",
          on: made.key.id,
          app: made.key.app,
          after: { type, label, channelPatterns, actions, allowedOrigins, turn },
        });
        return { ...fieldsOf(made.key), ...(made.secret !== undefined && { secret: made.secret }) };
      },
    }),
    endpoint({
      ...reading,
      method: "GET",
      path: root,
      summary: "List keys in order of creation, including revoked ones",
      query: () =>
        paging().extend({
          app: z.string().describe("Id or name; absent: of all applications.").optional(),
          revoked: z
            .enum(["true", "false"])
            .describe("true: only revoked keys; false: only the others. Absent: all.")
            .optional(),
        }),
      response: () => z.object({ data: z.array(key()), next: z.string().nullable() }),
      problems: ["not_found"],
      handle: async (_call, { query: { app, limit, after, revoked } }) => {
        const isRevoked = revoked === undefined ? undefined : revoked === "true";
        return pageOf(await directory.keysPage(limit + 1, app, after, isRevoked), limit, (row) => row.id, fieldsOf);
      },
    }),
    endpoint({
      ...reading,
      method: "GET",
      path: one,
      summary: "One key, with its number of connections on all nodes",
      response: () =>
        key()
          .extend({ connections: z.int().describe("Open connections with this key, on all nodes that answer") })
          .meta({ id: "KeyWithConnections" }),
      problems: ["not_found"],
      handle: async (call) => {
        const row = await directory.key(idOf(call));
        return { ...fieldsOf(row), connections: await parts.connectionsOf(row.id) };
      },
    }),
    endpoint({
      ...base,
      method: "PATCH",
      path: one,
      summary: "Change patterns, actions, origins, turn or label",
      body: edit,
      response: key,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const { before, after } = await directory.editKey(idOf(call), toEdit(body));
        await audit(call, caller, {
          what: "key edited",
          on: after.id,
          app: after.app,
          ...changedFields(fieldsOf(before), fieldsOf(after)),
        });
        return fieldsOf(after);
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: one,
      summary: "Revoke a key",
      response: key,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const revoked = await directory.revokeKey(idOf(call));
        await audit(call, caller, { what: "key revoked", on: revoked.id, app: revoked.app });
        return fieldsOf(revoked);
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${one}/rotate`,
      summary: "Rotate a secret key's signing secret",
      body: rotate,
      response: () =>
        z
          .object({ keyId: z.string(), secret: z.string(), previousSecretExpiresAt: unixSeconds() })
          .meta({ id: "RotatedKey" }),
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const keyId = idOf(call);
        const graceSeconds = body.graceSec ?? parts.rotationGraceSeconds;
        const rotated = await directory.rotateKey(keyId, {
          graceSeconds,
          retirePrevious: body.retirePrevious ?? false,
        });
        await audit(call, caller, {
          what: "key rotated",
          on: keyId,
          app: rotated.key.app,
          after: { previousEnds: new Date(rotated.previousEndsMs).toISOString() },
        });
        return { keyId, secret: rotated.secret, previousSecretExpiresAt: toSeconds(rotated.previousEndsMs) };
      },
    }),
    endpoint({
      // It changes nothing, says nothing that the token does not, and reads no list.
      ...reading,
      guard: parts.tokenChecks.guard,
      method: "POST",
      path: "/api/internal/v1/signalling/tokens/check",
      summary: "Check a connect token, with the exact reason if it is refused",
      body: () => z.strictObject({ token: z.string().min(1) }),
      response: checked,
      handle: async (_call, { caller, body }) => {
        // As for a connect: another node may have changed the key a moment ago.
        await parts.storeFollower?.catchUp();
        return check(body.token, parts, parts.tokenChecks.begin(caller));
      },
    }),
  ];
}

function check(token: string, { keyring, nowMs }: KeyParts, charge: (requests: number) => void): Infer<typeof checked> {
  const result = verifyToken(token, keyring, nowMs(), { debt: () => 0, charge: (_, requests) => charge(requests) });
  if (result instanceof TokenRefusal)
    return { valid: false, error: new Problem(result.code).code, reason: result.reason };
  return {
    valid: true,
    keyId: result.key.id,
    app: result.key.app,
    peerId: result.peerId,
    expiresAt: toSeconds(result.expiresAtMs),
    channels: [...(result.scope ?? result.key.scope).patterns],
    permissions: actionList(result.actions),
  };
}
