/** The parts of an OpenAPI document that the page reads. */
import type { Schema } from "./schema.ts";

export interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Content {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly servers?: readonly { readonly url: string }[];
}

export interface SecurityScheme {
  readonly type?: string;
  readonly in?: string;
  readonly name?: string;
  readonly scheme?: string;
  readonly bearerFormat?: string;
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, Operation>> & { readonly parameters?: readonly Parameter[] }>
  >;
  readonly security?: Operation["security"];
  readonly components?: { readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> };
}

/** One operation with its place. */
export interface Placed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Parameters of the path, which all its methods have. */
  readonly shared: readonly Parameter[];
}

const APIS = ["Realtime API", "Application API", "Control plane"];
const METHODS = ["get", "post", "put", "patch", "delete"];

/** Those that applications use come first. */
export const operationsOf = ({ paths }: ApiDocument): Placed[] =>
  Object.entries(paths)
    .flatMap(([path, item]) =>
      Object.entries(item as Record<string, Operation>)
        .filter(([method]) => METHODS.includes(method))
        .map(([method, operation]) => ({ method, path, operation, shared: item.parameters ?? [] })),
    )
    .sort((one, other) => APIS.indexOf(apiOf(one.path)) - APIS.indexOf(apiOf(other.path)));

/** Which of the service's APIs an operation belongs to. */
export function apiOf(path: string): string {
  if (path.startsWith("/v1/")) return "Realtime API";
  return path.startsWith("/api/v1/") ? "Application API" : "Control plane";
}

/** Whether it is needed, and where it goes. */
export const placeOf = ({ required, in: place }: Parameter): string =>
  `${required ? "required" : "optional"}, in the ${place}`;
