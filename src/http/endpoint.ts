/**
 * An endpoint is declared once: its path and method, who may call it, what it takes and answers, which problems it may
 * give. The router and the OpenAPI document are both made from that.
 */
import type { z } from "zod";
import type { Code } from "../protocol/codes.ts";
import { type Call, nameIgnoredQuery, readBody, readQuery } from "./call.ts";
import { readAnyBody } from "./form.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** `application` and `applicationOpen`: the application API, with its secret key and without; see application.ts. */
export type Security = "none" | "secretKey" | "admin" | "application" | "applicationOpen";

export const isApplication = (security: Security): boolean =>
  security === "application" || security === "applicationOpen";

/** Lets a call in and says who it is, or throws a Problem. Runs before anything of the body is read. */
export interface Guard<Who> {
  readonly security: Security;
  readonly admit: (call: Call) => Who | Promise<Who>;
  /**
   * Asked again once time has passed, because the credential may have been revoked meanwhile: who it is now, or the
   * same Problem. MUST be synchronous, so that nothing changes between it and what it guards, and charge no rate.
   */
  readonly again: (call: Call) => Who;
  /** Query parameters that the credential travels in. */
  readonly parameters?: readonly string[];
}

interface Spec<Who, Body extends z.ZodType, Query extends z.ZodType> {
  readonly method: Method;
  /** In the router's form: /v1/peers/:peerId. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly guard: Guard<Who>;
  readonly body?: Body;
  readonly query?: Query;
  readonly answer: z.ZodType;
  /** Where the handler answers a Response that is no JSON: its media type. `answer` is then not held against it. */
  readonly answerType?: string;
  /** What else a success may be, such as 206. */
  readonly otherStatuses?: readonly number[];
  /** Where the handler reads the body itself, as a stream: its media type. There is no `body` then. */
  readonly bodyType?: string;
  /** Where less than the usual is enough, of the application API. */
  readonly bodyMaxBytes?: number;
  /** Beyond those every endpoint of its kind may give. */
  readonly problems?: readonly Code[];
  /** Parts of the body are passed on byte for byte: what is inside its fields is not looked at. */
  readonly passesOn?: true;
  /** The path's parameter may hold raw slashes: /v1/channels/a/b/peers. */
  readonly spans?: true;
  readonly handle: (call: Call, input: Input<Who, z.infer<Body>, z.infer<Query>>) => object | Promise<object>;
}

interface Input<Who, Body, Query> {
  readonly who: Who;
  readonly query: Query;
  readonly body: Body;
  /** The body as it came. */
  readonly text: string;
  /** For answers that take long: asks the guard again, throws if the credential is not good any more. */
  readonly again: () => Who;
}

/** What the router and the document need of an endpoint; what it is made of inside is its own affair. */
export interface Endpoint {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly security: Security;
  readonly body: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly answer: z.ZodType;
  readonly answerType: string;
  readonly otherStatuses: readonly number[];
  readonly bodyType: string | undefined;
  readonly problems: readonly Code[];
  readonly spans: boolean;
  /** The answer's JSON value. */
  readonly run: (call: Call) => Promise<object>;
}

export function endpoint<Who, Body extends z.ZodType, Query extends z.ZodType>(spec: Spec<Who, Body, Query>): Endpoint {
  const { guard, body: bodySchema, query: querySchema, handle } = spec;
  const run = async (call: Call): Promise<object> => {
    const admitted = guard.admit(call);
    const first = admitted instanceof Promise ? await admitted : admitted;
    nameIgnoredQuery(call, querySchema, guard.parameters ?? []);
    const query = (querySchema ? readQuery(call, querySchema) : undefined) as z.infer<Query>;
    const read =
      bodySchema &&
      (isApplication(guard.security)
        ? await readAnyBody(call, bodySchema, spec.bodyMaxBytes)
        : await readBody(call, bodySchema, spec.passesOn === true));
    const again = (): Who => guard.again(call);
    // A body may be long on its way: a credential that was revoked meanwhile must not act any more.
    const who = read ? again() : first;
    const answer = handle(call, { who, query, body: read?.body as z.infer<Body>, text: read?.text ?? "", again });
    if (!(answer instanceof Promise) || spec.method !== "GET") return answer;
    const found = await answer;
    // Nor read: what others had to be asked for may be there only after the revocation.
    again();
    return found;
  };
  const { method, path, tag, summary, answer, problems = [], spans = false } = spec;
  const { answerType = "application/json", otherStatuses = [], bodyType } = spec;
  return {
    method,
    path,
    tag,
    summary,
    security: guard.security,
    body: bodySchema,
    query: querySchema,
    answer,
    answerType,
    otherStatuses,
    bodyType,
    problems,
    spans,
    run,
  };
}

export const open: Guard<undefined> = { security: "none", admit: () => undefined, again: () => undefined };
