/** The OpenAPI 3.1 document, made from the endpoints' own schemas. */
import { z } from "zod";
import { CODES, type Code, wireCode } from "../protocol/codes.ts";
import type { Endpoint, Security } from "./endpoint.ts";

const problem = z.object({ error: z.string(), message: z.string() }).meta({ id: "Problem" });

/** Every endpoint with that security may give these, beside its own. */
const COMMON: Readonly<Record<Security, readonly Code[]>> = {
  none: [],
  secretKey: ["unauthorized", "rate_limited"],
  admin: ["unauthorized", "rate_limited"],
};

type Schemas = Record<string, object>;

export function openapiDocument(endpoints: readonly Endpoint[], version: string): object {
  const schemas: Schemas = {};
  const paths: Record<string, Record<string, object>> = {};
  for (const one of endpoints) {
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    (paths[path] as Record<string, object>)[one.method.toLowerCase()] = operation(one, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Parley", version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        secretKey: { type: "http", scheme: "bearer", bearerFormat: "<sk_id>:<sk_secret>" },
        admin: { type: "http", scheme: "bearer", bearerFormat: "admin token" },
      },
    },
  };
}

function operation(one: Endpoint, schemas: Schemas): object {
  return {
    tags: [one.tag],
    summary: one.summary,
    operationId: `${one.method.toLowerCase()} ${one.path}`.replace(/\W+(\w)/g, (_all, next: string) =>
      next.toUpperCase(),
    ),
    security: one.security === "none" ? [] : [{ [one.security]: [] }],
    parameters: [...pathParameters(one), ...queryParameters(one, schemas)],
    ...(one.body && {
      requestBody: {
        required: !one.body.safeParse({}).success,
        content: { "application/json": { schema: schemaOf(one.body, "input", schemas) } },
      },
    }),
    responses: {
      "200": {
        description: "Success",
        content: { "application/json": { schema: schemaOf(one.answer, "output", schemas) } },
      },
      ...problemResponses(one, schemas),
    },
  };
}

const pathParameters = (one: Endpoint): object[] =>
  [...one.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

function queryParameters(one: Endpoint, schemas: Schemas): object[] {
  if (!one.query) return [];
  const schema = schemaOf(one.query, "input", schemas) as { properties?: Record<string, object>; required?: string[] };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    in: "query",
    required: schema.required?.includes(name) ?? false,
    schema: property,
  }));
}

/** Codes that share a status share its response. */
function problemResponses(one: Endpoint, schemas: Schemas): Record<string, object> {
  const shape: Code[] = one.body ? ["invalid_request", "body_too_large"] : one.query ? ["invalid_request"] : [];
  const codes = new Set<Code>([...COMMON[one.security], ...shape, ...one.problems]);
  const schema = schemaOf(problem, "output", schemas);
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

/** Schemas with an id go to the components and are referred to; the others stand where they are used. */
function schemaOf(schema: z.ZodType, io: "input" | "output", schemas: Schemas): object {
  const made = JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: "any", target: "draft-2020-12" }));
  const {
    $schema: _dialect,
    $defs,
    ...own
  } = JSON.parse(made.replaceAll("#/$defs/", "#/components/schemas/")) as Schemas;
  Object.assign(schemas, $defs);
  return own;
}
