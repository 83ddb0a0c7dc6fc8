/** Checks responses against the service's own OpenAPI document. */
import { z } from "zod";
import type { Answer } from "./http.ts";

export interface Operation {
  readonly operationId: string;
  readonly security?: Record<string, string[]>[];
  readonly servers?: { readonly url: string; readonly variables?: object }[];
  readonly parameters: { name: string; in: string; required: boolean; schema: JsonSchema }[];
  readonly requestBody?: { required?: boolean; content: Record<string, { schema: JsonSchema }> };
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

/** The part of JSON Schema that our document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  /** A tuple: one schema per place. */
  readonly prefixItems?: readonly JsonSchema[];
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Document {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
}

export class Contract {
  private readonly paths: { form: RegExp; operations: Record<string, Operation> }[];
  private readonly compiled = new Map<object, z.ZodType>();

  constructor(private readonly document: Document) {
    // A component that is only a reference could refer to itself, and checking against it would never end.
    for (const [name, schema] of Object.entries(document.components.schemas))
      if ("$ref" in schema) throw new Error(`the component ${name} is only a reference`);
    this.paths = Object.entries(document.paths).map(([path, operations]) => ({
      form: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
      operations,
    }));
  }

  /** Throws if the document does not allow this response to this call. */
  readonly check = (method: string, path: string, { status, body }: Answer): void => {
    const [bare = ""] = path.split("?");
    const { operations } = this.paths.find(({ form }) => form.test(bare)) ?? {};
    const operation = operations?.[method.toLowerCase()];
    const call = `${method} ${bare} answered ${status}`;
    if (operation) this.checkAnswer(call, operation, status, body);
    else if (status !== (operations ? 405 : 404)) throw new Error(`${call}, but the document does not have this call`);
  };

  private checkAnswer(call: string, operation: Operation, status: number, body: unknown): void {
    const content = operation.responses[status]?.content;
    const schema = content?.["application/json"]?.schema;
    // For files the document promises only the status.
    if (content && !schema) return;
    if (!schema) throw new Error(`${call}, which the document does not know of`);
    const result = this.compile(schema).safeParse(body);
    if (!result.success) throw new Error(`${call}: ${z.prettifyError(result.error)}`);
  }

  private compile(schema: object): z.ZodType {
    let made = this.compiled.get(schema);
    if (!made) {
      const whole = { ...schema, $defs: this.document.components.schemas };
      made = z.fromJSONSchema(JSON.parse(JSON.stringify(whole).replaceAll("#/components/schemas/", "#/$defs/")));
      this.compiled.set(schema, made);
    }
    return made;
  }
}
