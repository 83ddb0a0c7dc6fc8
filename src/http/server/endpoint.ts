/**
 * An endpoint is declared once: its path and method, its guard, the schemas of its request and response, and which problems it may
 * give. The routes and the OpenAPI document are both made from that.
 */
import type { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { lazily } from "../../base/lazily.ts";
import type { Code } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import type { Origins } from "../request/cors.ts";
import { readAnyBody } from "../request/form.ts";
import { type ReadBody, readBody, readQuery, reportIgnoredQuery } from "../request/input.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** `application` and `applicationOpen`: the application API, with its secret key and without (application.ts). */
export type Security = "none" | "secretKey" | "admin" | "application" | "applicationOpen";

export const isApplication = (security: Security): boolean =>
  security === "application" || security === "applicationOpen";

/**
 * What a call of the control plane is about: one application, or the whole service. Calls whose filter by application can be left
 * out are of one application too.
 */
export type Scope = "app" | "service";

/** Admits a call and says who its caller is, or throws a Problem. Runs before any of the body is read. */
export interface Guard<Caller> {
  readonly security: Security;
  readonly admit: (call: Call) => Caller | Promise<Caller>;
  /**
   * Checks the credential again after an await, because it may have been revoked meanwhile: returns the caller, or throws the
   * same Problem. MUST be synchronous, so that nothing changes between the check and what it guards. MUST NOT charge a rate.
   */
  readonly recheck: (call: Call) => Caller;
  /** Query parameters that carry the credential. */
  readonly parameters?: readonly string[];
}

interface Spec<Caller, Body extends z.ZodType, Query extends z.ZodType> {
  readonly method: Method;
  /** In Bun's form: /v1/peers/:peerId. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly guard: Guard<Caller>;
  /** Only for calls by operators; a call that declares none counts as one of the service. */
  readonly scope?: [Caller] extends [Operator] ? Scope : never;
  /** Schemas are functions that make them: a start declares every endpoint, and most of them are never called. */
  readonly body?: () => Body;
  readonly query?: () => Query;
  readonly response: () => z.ZodType;
  /** Media type of a response that is not JSON. The handler then returns a Response; `response` only documents it. */
  readonly responseType?: string;
  /** Further statuses of success, such as 206. */
  readonly otherStatuses?: readonly number[];
  /** Media type of a body that the handler reads itself, as a stream. There is no `body` then. */
  readonly bodyType?: string;
  /** A smaller limit than the usual one. */
  readonly bodyMaxBytes?: number;
  /** Problems beyond those that every endpoint with this guard may give. */
  readonly problems?: readonly Code[];
  /** Parts of the body are passed on byte for byte, so the inside of its fields is not checked. */
  readonly passesOn?: true;
  /** The path's parameter may hold raw slashes: /v1/channels/a/b/peers. */
  readonly hasRawSlashes?: true;
  /** Pages of these origins may call it (cors.ts). */
  readonly origins?: Origins;
  readonly handle: (call: Call, input: Input<Caller, z.infer<Body>, z.infer<Query>>) => object | Promise<object>;
}

interface Input<Caller, Body, Query> {
  readonly caller: Caller;
  readonly query: Query;
  readonly body: Body;
  /** The body as it was sent. */
  readonly text: string;
  /** The text of one of its fields. */
  readonly textOf: (field: string) => string | undefined;
  /** For long responses: throws if the credential is no longer valid. */
  readonly recheck: () => Caller;
}

/** What the router and the OpenAPI document need of an endpoint. */
export interface Endpoint {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly security: Security;
  /** As declared. */
  readonly scope: Scope | undefined;
  readonly body: (() => z.ZodType) | undefined;
  readonly query: (() => z.ZodType) | undefined;
  readonly response: () => z.ZodType;
  readonly responseType: string;
  readonly otherStatuses: readonly number[];
  readonly bodyType: string | undefined;
  readonly problems: readonly Code[];
  readonly hasRawSlashes: boolean;
  readonly origins: Origins | undefined;
  /** Answers what browsers ask before a call, where the origins that may call are not known by then. */
  readonly preflight?: (call: Call) => Response;
  /** Returns the response's JSON value, or a whole Response. */
  readonly run: (call: Call) => Promise<object>;
}

const NO_BODY: ReadBody<undefined> = { body: undefined, text: "", textOf: () => undefined };

export function endpoint<Caller, Body extends z.ZodType, Query extends z.ZodType>(
  spec: Spec<Caller, Body, Query>,
): Endpoint {
  const { guard, handle } = spec;
  const bodySchema = spec.body && lazily(spec.body);
  const querySchema = spec.query && lazily(spec.query);
  const run = async (call: Call): Promise<object> => {
    const admitted = guard.admit(call);
    const first = admitted instanceof Promise ? await admitted : admitted;
    const expected = querySchema?.();
    reportIgnoredQuery(call, expected, guard.parameters ?? []);
    const query = (expected ? readQuery(call, expected) : undefined) as z.infer<Query>;
    const read =
      bodySchema &&
      (isApplication(guard.security)
        ? await readAnyBody(call, bodySchema(), spec.bodyMaxBytes)
        : await readBody(call, bodySchema(), spec.passesOn === true, spec.bodyMaxBytes));
    const recheck = (): Caller => guard.recheck(call);
    // A body can arrive slowly: a credential that was revoked meanwhile must have no effect.
    const caller = read ? recheck() : first;
    const { body, text, textOf } = read ?? NO_BODY;
    const result = handle(call, { caller, query, body: body as z.infer<Body>, text, textOf, recheck });
    if (!(result instanceof Promise) || spec.method !== "GET") return result;
    const found = await result;
    // A read that waited for other nodes must not reach a credential that was revoked meanwhile.
    recheck();
    return found;
  };
  const { method, path, tag, summary, problems = [], hasRawSlashes = false } = spec;
  const { responseType = "application/json", otherStatuses = [], bodyType, origins, scope } = spec;
  return {
    method,
    path,
    tag,
    summary,
    security: guard.security,
    scope,
    body: bodySchema,
    query: querySchema,
    response: lazily(spec.response),
    responseType,
    otherStatuses,
    bodyType,
    problems,
    hasRawSlashes,
    origins,
    run,
  };
}

export const open: Guard<undefined> = { security: "none", admit: () => undefined, recheck: () => undefined };
