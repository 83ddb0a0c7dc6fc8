/** Signing in to the dashboard and out of it. */

import { z } from "zod";
import type { Operators } from "../../access/operators/operators.ts";
import type { Session } from "../../access/operators/session-book.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import { checkOrigin, clearCookie, refuseClearText, sessionSecretsIn, setCookie } from "../guards/cookie.ts";
import { holderOfToken, type OperatorGuardParts, sessionOf } from "../guards/operator.ts";
import { afterLatestChanges, refuseOverRate } from "../guards/refusals.ts";
import { SIGN_IN_BODY_MAX_BYTES } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { toSeconds, unixSeconds } from "../shared/schemas.ts";

const TOKEN_MAX_CHARS = 512;

const session = lazily(() =>
  z
    .object({
      name: z.string().describe("The operator's name; admin for the admin token"),
      role: z.enum(["admin", "read"]),
      expiresAt: unixSeconds(),
    })
    .meta({ id: "DashboardSession" }),
);

interface SessionParts {
  readonly operators: Operators;
  readonly access: OperatorGuardParts;
  readonly audit: Audit;
  /** Rate of sign-ins per operator; only the holder of a valid token uses it up. */
  readonly signIns: Throttle;
}

type PresentSession = NonNullable<ReturnType<typeof sessionOf>>;

const sessionFields = ({ operator: { name, role }, row }: Session): Infer<typeof session> => ({
  name,
  role,
  expiresAt: toSeconds(row.ends),
});

export function sessionEndpoints({ operators, access, audit, signIns }: SessionParts): Endpoint[] {
  const base = { tag: "dashboard", path: "/dashboard/session" } as const;
  const { arriving, present } = sessionGuards(access);
  return [
    endpoint({
      ...base,
      method: "POST",
      guard: arriving,
      summary: "Sign in to the dashboard with the admin token or an operator's token; sets its cookie",
      bodyMaxBytes: SIGN_IN_BODY_MAX_BYTES,
      body: () => z.strictObject({ token: z.string().min(1).max(TOKEN_MAX_CHARS) }),
      response: session,
      problems: ["unauthorized", "forbidden", "wrong_host", "rate_limited"],
      handle: async (call, { body }) => {
        const holder = await holderOfToken(access, call, body.token);
        call.isAuthenticated = true;
        refuseOverRate(signIns.take(holder.operator.name));
        // Always a new secret: one that the browser brings along may be known to another site that has set it.
        const made = await operators.signIn(holder, sessionOf(access, call)?.secret);
        setCookie(call, made.secret);
        await audit(call, holder.operator, { what: "signed in", on: holder.operator.name });
        return sessionFields(made.session);
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      guard: present,
      summary: "Who is signed in, and until when",
      response: session,
      handle: (_call, { caller }) => sessionFields(caller.session),
    }),
    endpoint({
      ...base,
      method: "DELETE",
      guard: present,
      summary: "Sign out: ends the session and its streams on every node",
      response: session,
      handle: async (call, { caller }) => {
        await operators.signOut(caller.secret);
        clearCookie(call);
        const { operator } = caller.session;
        await audit(call, operator, { what: "signed out", on: operator.name });
        return sessionFields(caller.session);
      },
    }),
  ];
}

function sessionGuards(access: OperatorGuardParts): { arriving: Guard<undefined>; present: Guard<PresentSession> } {
  const refuseForeignHost = (call: Call): void => {
    if (!access.isOwnHost(call)) throw new Problem("wrong_host");
  };
  const present = (call: Call, found: PresentSession | undefined): PresentSession => {
    if (!found) throw new Problem("unauthorized", "No session. Sign in first.");
    checkOrigin(call);
    return found;
  };
  return {
    arriving: {
      security: "none",
      admit: (call) => {
        refuseForeignHost(call);
        refuseClearText(call);
        // Otherwise another site could sign a visitor in under a name of its own.
        checkOrigin(call);
        return undefined;
      },
      recheck: () => undefined,
    },
    present: {
      security: "admin",
      admit: async (call) => {
        refuseForeignHost(call);
        const find = (): PresentSession | undefined => sessionOf(access, call);
        const { storeFollower } = access;
        const isUnknown = !find() && sessionSecretsIn(call).length > 0;
        const found = isUnknown && storeFollower ? await afterLatestChanges(storeFollower, find) : find();
        const valid = present(call, found);
        call.isAuthenticated = true;
        return valid;
      },
      recheck: (call) => present(call, sessionOf(access, call)),
    },
  };
}
