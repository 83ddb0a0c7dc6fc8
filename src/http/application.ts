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
 * body; declare them in `applicationProblem` below, so that /openapi.json has them. Links to ourselves begin with
 * `call.origin` and go through `linkFrom` (host.ts). Endpoints are listed in src/node/routes.ts.
 */
import { z } from "zod";
import { generationOf } from "../access/app-secret.ts";
import { bearer } from "../access/credential.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Follower } from "../access/store-follower.ts";
import type { Throttle } from "../access/throttle.ts";
import { Problem } from "../protocol/codes.ts";
import type { AppRow } from "../store/store.ts";
import type { Call } from "./call.ts";
import type { Endpoint, Guard } from "./endpoint.ts";
import { type ErrorBody, type RequestPipeline, type Routes, throwNotFound } from "./pipeline.ts";
import { queryOf } from "./query.ts";
import { afterLatestChanges } from "./refusals.ts";
import { routesOf } from "./router.ts";
import type { UnauthenticatedLimit } from "./unauthenticated-limit.ts";

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

export interface ApplicationParts {
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

export const applicationProblem = z
  .object({
    success: z.literal(false),
    message: z.string(),
    error: z.object({
      code: z.string(),
      details: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
    }),
    requestId: z.string().describe("Also in X-Request-Id, and in the log"),
    offset: z.int().optional().describe("For uploads: how many bytes are held"),
    budget: z.enum(["application", "stay"]).optional().describe("For insufficient_storage: which limit is reached"),
    opensAt: z.int().optional().describe("For room_not_open: when it opens, in Unix seconds"),
    retryAfterSec: z.int().optional().describe("For declined: in how many seconds one may ask again"),
    over: z
      .enum(["room", "token", "stay"])
      .optional()
      .describe(
        "For room_over: whose time is over, the room's, the access token's, or that of a person in this meeting",
      ),
  })
  .meta({ id: "ApplicationProblem" });

const errorBody: ErrorBody = ({ code, message, more }, { requestId }): z.infer<typeof applicationProblem> => ({
  success: false,
  message,
  error: { code: code === "crash" ? "internal_error" : code, ...(more.details && { details: [...more.details] }) },
  ...more.fields,
  requestId,
});

/** A trailing slash is accepted. These paths do not exist where neither host nor header names an application. */
export function applicationRoutes(pipeline: RequestPipeline, endpoints: readonly Endpoint[]): Routes {
  const options = { errorBody, hosts: "application" } as const;
  const exact = routesOf(pipeline, endpoints, options);
  return {
    ...exact,
    ...Object.fromEntries(Object.entries(exact).map(([path, handler]) => [`${path}/`, handler])),
    "/api/v1/*": pipeline.handler(pipeline.route("/api/v1/*", throwNotFound, options)),
  };
}
