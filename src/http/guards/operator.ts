/**
 * Guards of the control plane. The caller is an operator: with the admin token or a token of their own as Bearer, or with the cookie of
 * a session of the dashboard. A Bearer token decides if there are both.
 *
 * A token passes under any host. A cookie does not, because a browser sends it on behalf of pages.
 */
import type { Follower } from "../../access/admission/store-follower.ts";
import { bearer } from "../../access/keys/credential.ts";
import type { Operator } from "../../access/operators/operator.ts";
import type { TokenHolder } from "../../access/operators/operators.ts";
import type { Session } from "../../access/operators/session-book.ts";
import { rateKey } from "../../base/address.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import type { Guard } from "../server/endpoint.ts";
import { checkOrigin, sessionSecretsIn } from "./cookie.ts";
import type { GuessPace } from "./guess-pace.ts";
import { afterLatestChanges, refuseOverRate } from "./refusals.ts";

export interface OperatorGuardParts {
  readonly operators: {
    byToken(token: string): TokenHolder | undefined;
    bySession(secret: string): Session | undefined;
    readonly adminOperator: Operator;
  };
  /** Rate of wrong tokens per address. */
  readonly wrongTries: Throttle;
  /** Paces the tokens of addresses beyond that rate. */
  readonly guesses: Pick<GuessPace, "wait">;
  /** Whether the request names the service by one of its own addresses (own-host.ts). */
  readonly isOwnHost: (call: Call) => boolean;
  /** False: there is no dashboard, and cookies are ignored. */
  readonly hasDashboard: boolean;
  /** Present if other nodes can change keys and operators. */
  readonly storeFollower?: Follower | undefined;
}

export interface OperatorGuards {
  /** An operator who may change things and see secrets. */
  readonly admin: Guard<Operator>;
  /** Every operator: for what shows neither secrets nor payloads, and changes nothing. */
  readonly operator: Guard<Operator>;
  /** As `operator`, for what a browser loads without our own headers: the tail and files. */
  readonly stream: Guard<Operator>;
  /** For metrics: this machine, or any operator. */
  readonly observer: Guard<Operator>;
}

export interface ListGuards extends Pick<OperatorGuards, "admin" | "operator"> {
  /** An operator within the rate of long lists. */
  readonly lists: Guard<Operator>;
}

/** An operator's token; the form decides whether the store is asked for its latest changes. */
const OPERATOR_TOKEN = /^op_[\w-]{48}$/;

export function operatorGuards(parts: OperatorGuardParts): OperatorGuards {
  const { operators, isOwnHost } = parts;
  const everyone = (operator: Operator): Operator => operator;
  const isNear = (call: Call): Operator | undefined =>
    // The host is checked too: any web page can make a browser on this machine send requests here under a name of its own.
    call.isLocal && isOwnHost(call) ? operators.adminOperator : undefined;
  const guard = (
    allow: (operator: Operator) => Operator,
    { isStream = false, without }: { isStream?: boolean; without?: (call: Call) => Operator | undefined } = {},
  ): Guard<Operator> => {
    const find = (call: Call): Operator | undefined =>
      without?.(call) ?? findByToken(parts, call) ?? findByCookie(parts, call, isStream);
    const admitted = (call: Call, found: Operator | undefined): Operator => {
      if (!found) throw refusalOf(parts, call);
      call.isAuthenticated = true;
      return allow(found);
    };
    const check = (call: Call): Operator | Promise<Operator> => {
      const found = find(call);
      // Before the rate: wrong tries of others behind the same address must not lock the operator out (protocol 8).
      if (found || !parts.storeFollower || !mayBeNew(parts, call)) return admitted(call, found);
      return afterLatestChanges(parts.storeFollower, () => find(call)).then((one) => admitted(call, one));
    };
    return {
      security: "admin",
      admit: (call) => {
        const token = tokenIn(call);
        const wait = token === undefined || without?.(call) ? undefined : waitOf(parts, call, token);
        return wait ? wait.then(() => check(call)) : check(call);
      },
      recheck: (call) => {
        const found = find(call);
        if (!found) throw notAnOperator(tokenIn(call) !== undefined);
        return allow(found);
      },
    };
  };
  return {
    admin: guard(adminOnly),
    operator: guard(everyone),
    stream: guard(everyone, { isStream: true }),
    observer: guard(everyone, { without: isNear }),
  };
}

/** As `guard`, with a rate per operator. */
export const rateLimited = (guard: Guard<Operator>, rate: Pick<Throttle, "take">): Guard<Operator> => {
  const charged = (operator: Operator): Operator => {
    refuseOverRate(rate.take(operator.name));
    return operator;
  };
  return {
    ...guard,
    admit: (call) => {
      const admitted = guard.admit(call);
      return admitted instanceof Promise ? admitted.then(charged) : charged(admitted);
    },
  };
};

/** Signing in: charges wrong tries like a call with a wrong token. */
export async function holderOfToken(parts: OperatorGuardParts, call: Call, token: string): Promise<TokenHolder> {
  await waitOf(parts, call, token);
  const find = (): TokenHolder | undefined => parts.operators.byToken(token);
  const found =
    find() ??
    (parts.storeFollower && OPERATOR_TOKEN.test(token)
      ? await afterLatestChanges(parts.storeFollower, find)
      : undefined);
  if (found) return found;
  refuseOverRate(parts.wrongTries.take(rateKey(call.client)));
  throw notAnOperator(true);
}

const waitOf = ({ guesses, wrongTries }: OperatorGuardParts, call: Call, token: string): Promise<void> | undefined =>
  guesses.wait(token, () => wrongTries.wait(rateKey(call.client)) > 0);

/** The session of the call's cookie, without any check of where the request comes from. */
export function sessionOf(parts: OperatorGuardParts, call: Call): { secret: string; session: Session } | undefined {
  if (!parts.hasDashboard) return undefined;
  for (const secret of sessionSecretsIn(call)) {
    const session = parts.operators.bySession(secret);
    if (session) return { secret, session };
  }
  return undefined;
}

const tokenIn = ({ request }: Call): string | undefined => bearer(request.headers.get("authorization"));

function findByToken({ operators }: OperatorGuardParts, call: Call): Operator | undefined {
  const token = tokenIn(call);
  return token === undefined ? undefined : operators.byToken(token)?.operator;
}

function findByCookie(parts: OperatorGuardParts, call: Call, isStream: boolean): Operator | undefined {
  if (tokenIn(call) !== undefined || !parts.isOwnHost(call)) return undefined;
  const found = sessionOf(parts, call);
  if (!found) return undefined;
  checkOrigin(call, isStream);
  return found.session.operator;
}

/** Another node may have made the token or the session a moment ago. */
function mayBeNew(parts: OperatorGuardParts, call: Call): boolean {
  const token = tokenIn(call);
  if (token !== undefined) return OPERATOR_TOKEN.test(token);
  return parts.hasDashboard && parts.isOwnHost(call) && sessionSecretsIn(call).length > 0;
}

function refusalOf(parts: OperatorGuardParts, call: Call): Problem {
  const isTry = tokenIn(call) !== undefined;
  // Cookies are not counted: their secrets cannot be guessed, and other services on `localhost` share the name.
  if (isTry) refuseOverRate(parts.wrongTries.take(rateKey(call.client)));
  return parts.isOwnHost(call) ? notAnOperator(isTry) : new Problem("wrong_host");
}

const notAnOperator = (isTry: boolean): Problem =>
  new Problem(
    "unauthorized",
    isTry
      ? "This is neither the admin token nor an operator's token."
      : "The credential must be: Authorization: Bearer <admin token or operator's token>.",
  );

function adminOnly(operator: Operator): Operator {
  if (operator.role === "admin") return operator;
  throw new Problem(
    "forbidden",
    `The operator ${operator.name} has the role read, which cannot change anything or see secrets. This call needs the role admin.`,
  );
}
