/**
 * The application API: `<app>.<domain>/api/v1/…`, with the application's secret key and its own error body. An endpoint belongs
 * to it by taking its guard from here:
 *
 *   endpoint({ …, guard: guards.secretKey, handle: (call, { caller, body }) => … })
 *     needs the secret key; `caller` is the application. The body is JSON or a form (form.ts). 400 and 429 are declared already.
 *   endpoint({ …, guard: guards.minting, handle: (call, { caller, body }) => … })
 *     the same, for tokens that expire with the secret that signed them: `caller` is the application and that secret's
 *     generation.
 *   endpoint({ …, guard: guards.open, handle: (call, { caller }) => … })
 *     needs no key (access tokens are checked) and is counted against the client's address. `caller` is undefined if there is no
 *     such application; the response must then equal the one for a wrong proof, so that clients cannot find out which exist.
 *   endpoint({ …, guard: guards.unpaid, handle: (call, { caller }) => … })
 *     like `open`, but the handler decides who pays for the call once it knows whether the caller is verified (meeting-rates.ts).
 *   endpoint({ …, guard: guards.signed, handle: (call, { caller }) => … })
 *     the address carries its own proof (links, uploads). The handler checks it and then sets `call.isAuthenticated`; requests
 *     that it refuses before that are counted against the client's address.
 *   endpoint({ …, responseType: "application/octet-stream", otherStatuses: [206], handle: () => new Response(stream, …) })
 *     returns a Response of its own, streamed if need be. The pipeline adds only headers that the Response does not have.
 *   endpoint({ …, bodyType: "application/octet-stream", handle: (call) => … call.request.body … })
 *     reads the body itself, as a stream.
 *
 * Refusals are `throw new Problem(code, message?, retryAfterSeconds?, { details?, fields? })`. `fields` are added to the error's
 * body; declare them in response/application-problem.ts, so that /openapi.json has them. Links to ourselves begin with
 * `call.origin` and go through `linkFrom` (host.ts). Endpoints are listed in src/node/routes/routes.ts.
 */
import type { Follower } from "../../access/admission/store-follower.ts";
import { generationOf } from "../../access/keys/app-secret.ts";
import { bearer } from "../../access/keys/credential.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Call } from "../request/call.ts";
import { queryOf } from "../request/query.ts";
import type { Guard } from "../server/endpoint.ts";
import type { UnauthenticatedLimit } from "../server/unauthenticated-limit.ts";
import { afterLatestChanges } from "./refusals.ts";

/** An application, and the generation of the secret key that the request carries. */
export interface SecretHolder {
  readonly app: AppRow;
  readonly generation: number;
}

export interface ApplicationGuards {
  readonly secretKey: Guard<AppRow>;
  readonly minting: Guard<SecretHolder>;
  readonly open: Guard<AppRow | undefined>;
  readonly unpaid: Guard<AppRow | undefined>;
  readonly signed: Guard<AppRow | undefined>;
}

interface ApplicationParts {
  readonly keyring: Keyring;
  readonly nowMs: () => number;
  /** Rate of requests per application. */
  readonly requests: Throttle;
  /** Rate of requests that need no credential. */
  readonly unauthenticated: UnauthenticatedLimit;
  /** Present if other nodes can change applications. */
  readonly storeFollower?: Follower | undefined;
}

export function applicationGuards(parts: ApplicationParts): ApplicationGuards {
  const { keyring, nowMs, requests, unauthenticated, storeFollower } = parts;
  const appOf = ({ target }: Call): AppRow | undefined => keyring.appNamed(target.app ?? "");
  const holderOf = (call: Call): SecretHolder | undefined => {
    const app = appOf(call);
    // Compared even if there is no application, so that the time it takes does not reveal which exist.
    const generation = generationOf(secretIn(call) ?? "", app, nowMs());
    return app && generation !== undefined ? { app, generation } : undefined;
  };
  const admit = (call: Call): SecretHolder | Promise<SecretHolder> => {
    const holder = holderOf(call);
    return holder || !storeFollower
      ? charge(call, holder)
      : afterLatestChanges(storeFollower, () => holderOf(call)).then((one) => charge(call, one));
  };
  const checked = (holder: SecretHolder | undefined): SecretHolder => {
    if (!holder) throw new Problem("invalid_secret_key");
    return holder;
  };
  const charge = (call: Call, holder: SecretHolder | undefined): SecretHolder => {
    const valid = checked(holder);
    call.isAuthenticated = true;
    const seconds = requests.take(valid.app.id);
    if (seconds > 0) throw new Problem("rate_limited", undefined, seconds);
    return valid;
  };
  const admitOpen = (call: Call): AppRow | undefined => {
    unauthenticated.charge(call);
    return appOf(call);
  };
  const application = { security: "application", parameters: ["secretKey"] } as const;
  return {
    secretKey: {
      ...application,
      admit: (call) => {
        const holder = admit(call);
        return holder instanceof Promise ? holder.then(({ app }) => app) : holder.app;
      },
      recheck: (call) => checked(holderOf(call)).app,
    },
    minting: { ...application, admit, recheck: (call) => checked(holderOf(call)) },
    open: { security: "applicationOpen", admit: admitOpen, recheck: appOf, parameters: ["secretKey"] },
    unpaid: { security: "applicationOpen", admit: appOf, recheck: appOf, parameters: ["secretKey"] },
    signed: { security: "applicationOpen", admit: appOf, recheck: appOf, parameters: ["proof", "expires", "gen"] },
  };
}

const secretIn = ({ request }: Call): string | undefined =>
  queryOf(request).get("secretKey") ?? bearer(request.headers.get("authorization"));
