/**
 * The frame of the application API: `<app>.<domain>/api/v1/…`, with the application's secret key, errors in a body of its
 * own. What an endpoint has to do for it is to take its guard from here:
 *
 *   endpoint({ …, guard: guards.secretKey, handle: (call, { who, body }) => … })
 *     needs the secret key; `who` is the application. The body is JSON or a form (form.ts). 400 and 429 are declared already.
 *   endpoint({ …, guard: guards.minting, handle: (call, { who, body }) => … })
 *     the same, for what ends with the secret key it was made with: `who` is the application and that secret's generation.
 *   endpoint({ …, guard: guards.open, handle: (call, { who }) => … })
 *     needs none (access tokens are checked), and is counted against the client's address; `who` is undefined when there is
 *     no such application, and the answer must then be the one that a wrong proof gets: nobody learns which exist.
 *   endpoint({ …, guard: guards.signed, handle: (call, { who }) => … })
 *     the address carries its own proof (links, uploads). The handler checks it and then sets `call.standing.isKnown`; only
 *     requests that it refuses before are counted against the client's address.
 *   endpoint({ …, answerType: "application/octet-stream", otherStatuses: [206], handle: () => new Response(stream, …) })
 *     answers a Response of its own, streamed if it likes; headers that it sets are left alone, the frame adds the others.
 *   endpoint({ …, bodyType: "application/octet-stream", handle: (call) => … call.request.body … })
 *     reads the body itself, as a stream; without `body` the frame touches none of it.
 *
 * Refusals are `throw new Problem(code, message?, retryAfterSeconds?, { details?, fields? })`; `fields` stand in the error's
 * body beside the others, and have to be added to `applicationProblem` below, so that /openapi.json knows of them.
 * `call.origin` is what links back to us begin with; `guards.link` finishes them. Endpoints made so go into `applicationRoutes` in routes.ts.
 */
import { z } from "zod";
import { generationOf } from "../access/app-secret.ts";
import { bearer } from "../access/credential.ts";
import type { News } from "../access/follow.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Throttle } from "../access/throttle.ts";
import { Problem } from "../protocol/codes.ts";
import type { AppRow } from "../store/store.ts";
import { type Call, queryOf } from "./call.ts";
import type { Endpoint, Guard } from "./endpoint.ts";
import { perhapsEarly } from "./guards.ts";
import { linkFrom, namedApp } from "./host.ts";
import type { ErrorBody, Frame, Handler, Routes } from "./router.ts";
import type { Strangers } from "./strangers.ts";

/** An application, and the generation of its secret key that the request showed. */
export interface SecretHolder {
  readonly app: AppRow;
  readonly generation: number;
}

export interface ApplicationGuards {
  readonly secretKey: Guard<AppRow>;
  readonly minting: Guard<SecretHolder>;
  readonly open: Guard<AppRow | undefined>;
  /** A link to ourselves as the answer to this call: it works for whoever follows it without our headers. */
  readonly link: (call: Call, url: string) => string;
  readonly signed: Guard<AppRow | undefined>;
}

export interface ApplicationParts {
  readonly keyring: Keyring;
  readonly domain: string;
  readonly nowMs: () => number;
  /** Per application, as per key elsewhere. */
  readonly requests: Throttle;
  /** For calls that need no credential. */
  readonly strangers: Strangers;
  /** Where other nodes change applications too. */
  readonly news?: News | undefined;
}

export function applicationGuards(parts: ApplicationParts): ApplicationGuards {
  const { keyring, domain, nowMs, requests, strangers, news } = parts;
  const appOf = (call: Call): AppRow | undefined => keyring.appNamed(namedApp(call, domain) ?? "");
  const found = (call: Call): SecretHolder | undefined => {
    const app = appOf(call);
    // Compared even where there is no application, so that it takes as long.
    const generation = generationOf(presented(call) ?? "", app, nowMs());
    return app && generation !== undefined ? { app, generation } : undefined;
  };
  const admit = (call: Call): SecretHolder | Promise<SecretHolder> => {
    const holder = found(call);
    return holder || !news
      ? limited(call, holder)
      : perhapsEarly(news, () => found(call)).then((one) => limited(call, one));
  };
  const checked = (holder: SecretHolder | undefined): SecretHolder => {
    if (!holder) throw new Problem("invalid_secret_key");
    return holder;
  };
  const limited = (call: Call, holder: SecretHolder | undefined): SecretHolder => {
    const good = checked(holder);
    call.standing.isKnown = true;
    const seconds = requests.take(good.app.id);
    if (seconds > 0) throw new Problem("rate_limited", undefined, seconds);
    return good;
  };
  const openly = (call: Call): AppRow | undefined => {
    strangers.charge(call);
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
      again: (call) => checked(found(call)).app,
    },
    minting: { ...application, admit, again: (call) => checked(found(call)) },
    open: { security: "applicationOpen", admit: openly, again: appOf, parameters: ["secretKey"] },
    signed: { security: "applicationOpen", admit: appOf, again: appOf, parameters: ["proof", "expires"] },
    link: (call, url) => linkFrom(call, domain, url),
  };
}

const presented = ({ request }: Call): string | undefined =>
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
    offset: z.int().optional().describe("Of an upload: how many bytes are held"),
  })
  .meta({ id: "ApplicationProblem" });

const errorBody: ErrorBody = ({ code, message, more }, { requestId }): z.infer<typeof applicationProblem> => ({
  success: false,
  message,
  error: { code: code === "crash" ? "internal_error" : code, ...(more.details && { details: [...more.details] }) },
  ...more.fields,
  requestId,
});

/** A trailing slash is accepted. Where neither host nor header names an application these addresses do not exist. */
export function applicationRoutes(frame: Frame, endpoints: readonly Endpoint[], domain: string): Routes {
  const exact = frame.routes(endpoints, errorBody);
  const missing = (): never => {
    throw new Problem("not_found");
  };
  const all: Routes = {
    ...exact,
    ...Object.fromEntries(Object.entries(exact).map(([path, handler]) => [`${path}/`, handler])),
    "/api/v1/*": frame.wrap("/api/v1/*", missing, errorBody),
  };
  const onAppHosts =
    (handler: Handler): Handler =>
    (request, server) => {
      const isApp = namedApp(frame.call(request, server), domain) !== undefined;
      return (isApp ? handler : frame.notFound)(request, server);
    };
  return Object.fromEntries(Object.entries(all).map(([path, handler]) => [path, onAppHosts(handler)]));
}
