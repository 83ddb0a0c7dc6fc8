/** The OpenAPI 3.1 document, made from the endpoints' own schemas. Its server addresses follow the host of the request. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { lazily } from "../../base/lazily.ts";
import { withBreaks } from "../../base/other-work.ts";
import { CODES, type Code, wireCode } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import { APP_HEADER } from "../request/host.ts";
import { applicationProblem } from "../response/application-problem.ts";
import { acceptsGzip, type Packed, packAside, packedResponse, tagOf } from "../response/packed.ts";
import { type Endpoint, isApplication, type Security } from "./endpoint.ts";
import { addMeanings, meaningOfPath } from "./meanings.ts";
import { onlyRead } from "./pipeline.ts";

const problem = lazily(() => z.object({ error: z.string(), message: z.string() }).meta({ id: "Problem" }));

/** Problems that every endpoint with this security may give, besides its own. */
const COMMON: Readonly<Record<Security, readonly Code[]>> = {
  none: [],
  secretKey: ["unauthorized", "rate_limited"],
  admin: ["unauthorized", "forbidden", "wrong_host", "rate_limited"],
  application: ["invalid_secret_key", "rate_limited"],
  applicationOpen: ["rate_limited"],
};

/** Names of the security schemes; any one of them suffices. */
const SCHEMES: Readonly<Record<Security, readonly string[]>> = {
  none: [],
  secretKey: ["secretKey"],
  admin: ["admin"],
  application: ["applicationBearer", "applicationKey"],
  applicationOpen: [],
};

type Schemas = Record<string, object>;

/** Addresses differ only in scheme and port. Clients choose the port, so only the newest are kept. */
const KEPT_MAX = 8;
/** Compressing takes some 40 ms of a core. Requests that name another port each are answered without it, at the price of a copy. */
const COMPRESS_EVERY_MS = 1000;
/** In the text in place of the address of the application API. */
const ADDRESS = "address-of-the-application-api";

/** Serves the document: made once, and compressed once per address under which the service is reached. */
export function openapiResponse(
  endpoints: readonly Endpoint[],
  version: string,
  domain: string,
  { monotonicMs }: Pick<Clock, "monotonicMs">,
): (call: Call) => Promise<Response> {
  let making: Promise<Template> | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;
  /** Compressed, by the address of the application API. Bound: KEPT_MAX. */
  const kept = new Map<string, Promise<Packed>>();
  const compressed = (url: string, text: string): Promise<Packed> | undefined => {
    if (monotonicMs() < nextMs) return undefined;
    nextMs = monotonicMs() + COMPRESS_EVERY_MS;
    const packed = packAside(text);
    if (kept.size === KEPT_MAX) kept.delete(kept.keys().next().value ?? "");
    kept.set(url, packed);
    return packed;
  };
  return async (call) => {
    onlyRead(call);
    making ??= templateOf(endpoints, version);
    const template = await making;
    const url = applicationUrl(call.origin, domain);
    const headers = {
      "Content-Type": "application/json;charset=utf-8",
      ETag: tagOf(template.digest + url, version),
      "Cache-Control": "no-cache",
    };
    const ready = kept.get(url);
    if (ready) return ready.then((packed) => packedResponse(call, packed, headers));
    const text = template.pieces.join(url);
    const made = acceptsGzip(call) ? compressed(url, text) : undefined;
    return made
      ? made.then((packed) => packedResponse(call, packed, headers))
      : packedResponse(call, { text }, headers);
  };
}

interface Template {
  /** What is between the places of the address. */
  readonly pieces: readonly string[];
  readonly digest: string;
}

async function templateOf(endpoints: readonly Endpoint[], version: string): Promise<Template> {
  const text = `${JSON.stringify(await openapiDocument(endpoints, version, ADDRESS))}\n`;
  return { pieces: text.split(ADDRESS), digest: createHash("sha256").update(text).digest("hex") };
}

/** Made when it is asked for: with the schemas some 200 ms, which a start need not take, and for which no connection should wait. */
async function openapiDocument(endpoints: readonly Endpoint[], version: string, url: string): Promise<object> {
  const schemas: Schemas = {};
  const paths: Record<string, Record<string, object>> = {};
  const servers = [{ url, variables: { app: { default: "demo", description: "The application's name" } } }];
  for await (const one of withBreaks(endpoints, 1)) {
    const made = operation(one, schemas);
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    (paths[path] as Record<string, object>)[one.method.toLowerCase()] = isApplication(one.security)
      ? { ...made, servers }
      : made;
  }
  return document(paths, schemas, version);
}

function document(paths: object, schemas: Schemas, version: string): object {
  return {
    openapi: "3.1.0",
    info: { title: "Parley", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        secretKey: { type: "http", scheme: "bearer", bearerFormat: "<sk_id>:<sk_secret>" },
        admin: { type: "http", scheme: "bearer", bearerFormat: "admin token, or an operator's token" },
        applicationKey: { type: "apiKey", in: "query", name: "secretKey" },
        applicationBearer: { type: "http", scheme: "bearer", bearerFormat: "<application's secret key>" },
      },
    },
  };
}

/** `origin` is the scheme and host under which the client reached us, such as http://localhost:8080. */
function applicationUrl(origin: string, domain: string): string {
  // Only the port is taken over: the client can claim any host.
  const [scheme = "http"] = origin.split(":");
  const port = /:(\d{1,5})$/.exec(origin)?.[0] ?? "";
  return `${scheme}://{app}.${domain}${port}`;
}

function operation(one: Endpoint, schemas: Schemas): object {
  const body = one.body?.();
  return {
    tags: [one.tag],
    summary: one.summary,
    operationId: `${one.method.toLowerCase()} ${one.path}`.replace(/\W+(\w)/g, (_all, next: string) =>
      next.toUpperCase(),
    ),
    security: SCHEMES[one.security].map((scheme) => ({ [scheme]: [] })),
    parameters: [...pathParameters(one), ...queryParameters(one, schemas), ...headerParameters(one)],
    ...(body && {
      requestBody: {
        required: !body.safeParse({}).success,
        content: Object.fromEntries(
          bodyTypes(one).map((type) => [type, { schema: schemaOf(body, "input", one.tag, schemas) }]),
        ),
      },
    }),
    ...(one.bodyType && {
      requestBody: { content: { [one.bodyType]: { schema: { type: "string", format: "binary" } } } },
    }),
    responses: {
      ...Object.fromEntries(
        [200, ...one.otherStatuses].map((status) => [
          String(status),
          {
            description: "Success",
            content: { [one.responseType]: { schema: schemaOf(one.response(), "output", one.tag, schemas) } },
          },
        ]),
      ),
      ...problemResponses(one, schemas),
    },
  };
}

const bodyTypes = (one: Endpoint): string[] =>
  isApplication(one.security) ? ["application/json", "application/x-www-form-urlencoded"] : ["application/json"];

const pathParameters = (one: Endpoint): object[] =>
  [...one.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: meaningOfPath(name, one.path),
    schema: { type: "string" },
  }));

function queryParameters(one: Endpoint, schemas: Schemas): object[] {
  if (!one.query) return [];
  const schema = schemaOf(one.query(), "input", one.tag, schemas) as {
    properties?: Record<string, object>;
    required?: string[];
  };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    in: "query",
    required: schema.required?.includes(name) ?? false,
    schema: property,
  }));
}

const headerParameters = (one: Endpoint): object[] =>
  isApplication(one.security)
    ? [
        {
          name: APP_HEADER,
          in: "header",
          required: false,
          description:
            "The application's name, for clients that cannot resolve its host; send the call to the realtime host",
          schema: { type: "string" },
        },
      ]
    : [];

/** One response per status, which describes all its codes. */
function problemResponses(one: Endpoint, schemas: Schemas): Record<string, object> {
  const shape: Code[] = one.body ? ["invalid_request", "body_too_large"] : one.query ? ["invalid_request"] : [];
  if (one.body && isApplication(one.security)) shape.push("unsupported_media_type");
  const codes = new Set<Code>([...COMMON[one.security], ...shape, ...one.problems]);
  const schema = schemaOf(isApplication(one.security) ? applicationProblem() : problem(), "output", one.tag, schemas);
  return Object.fromEntries(
    [...Map.groupBy(codes, (code) => CODES[code].status)].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `\`${wireCode(code)}\`: ${CODES[code].text}`).join(" "),
        content: { "application/json": { schema } },
      },
    ]),
  );
}

/** Schemas with an id go to the components and are referenced; the others are inlined. `tag` is that of the operation. */
function schemaOf(schema: z.ZodType, io: "input" | "output", tag: string, schemas: Schemas): object {
  const made = JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: "any", target: "draft-2020-12" }));
  const {
    $schema: _dialect,
    $defs,
    ...own
  } = JSON.parse(made.replaceAll("#/$defs/", "#/components/schemas/")) as Schemas;
  for (const [id, one] of Object.entries($defs ?? {})) addMeanings(one, id);
  addMeanings(own, tag);
  Object.assign(schemas, $defs);
  return own;
}
