/** Schemas of the OpenAPI document, read as people need them: the type, the rules and the fields of a value. */

export interface Schema {
  readonly $ref?: string;
  /** The name under which it was referred to. */
  readonly name?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** A schema, and the references that led to it. */
export interface Resolved<T = Schema> {
  readonly schema: T;
  readonly trail: readonly string[];
}

interface Referable {
  readonly $ref?: string;
}

/** Reads the schemas of one document. */
export class Schemas {
  constructor(private readonly document: object) {}

  private pointed(ref: string): object {
    const parts = ref.slice(2).split("/");
    return parts.reduce<unknown>(
      (at, part) => (at as Record<string, unknown> | undefined)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")],
      this.document,
    ) as object;
  }

  /** Follows references. `trail` holds those already followed: a recursive schema ends with its name. */
  resolve<T extends Referable>(start: T | undefined, trail: readonly string[] = []): Resolved<T> {
    const { $ref, ...beside } = (start ?? {}) as T & { readonly name?: string };
    if ($ref === undefined) return { schema: beside as unknown as T, trail };
    const name = beside.name ?? $ref.split("/").at(-1);
    if (trail.includes($ref)) return { schema: { type: "object", ...beside, name } as unknown as T, trail };
    return this.resolve({ ...this.pointed($ref), ...beside, name } as unknown as T, [...trail, $ref]);
  }

  /** The alternatives for a value: the branches of anyOf and oneOf, each with allOf merged into it. */
  alternatives(start: Schema | undefined, before: readonly string[] = []): readonly Resolved[] {
    const { schema, trail } = this.resolve(start, before);
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches) return branches.flatMap((branch) => this.alternatives(branch, trail));
    if (!schema.allOf) return [{ schema, trail }];
    const parts = [...schema.allOf.map((part) => this.resolve(part, trail).schema), schema];
    const properties = Object.assign({}, ...parts.map((part) => part.properties));
    const required = parts.flatMap((part) => part.required ?? []);
    return [{ schema: Object.assign({}, ...parts, { properties, required }), trail }];
  }

  typeText(start: Schema | undefined, before?: readonly string[]): string {
    const names = this.alternatives(start, before).map(({ schema, trail }) => {
      if (schema.type === "array") {
        const items = this.typeText(schema.items, trail);
        return items.includes(" ") ? `(${items})[]` : `${items}[]`;
      }
      if (schema.name && schema.type === "object") return schema.name;
      return [schema.type ?? (schema.properties ? "object" : "any")].flat().join(" or ");
    });
    return [...new Set(names)].join(" or ");
  }

  constraints(start: Schema | undefined, before?: readonly string[]): string[] {
    return this.alternatives(start, before).flatMap(({ schema: one, trail }) => {
      const list = [
        one.enum && `one of ${one.enum.map((value) => JSON.stringify(value)).join(", ")}`,
        one.const !== undefined && `always ${JSON.stringify(one.const)}`,
        range(bound(one.minimum), bound(one.maximum)),
        one.exclusiveMinimum !== undefined && `over ${one.exclusiveMinimum}`,
        one.exclusiveMaximum !== undefined && `under ${one.exclusiveMaximum}`,
        range(one.minLength, one.maxLength, " characters"),
        range(one.minItems, one.maxItems, " entries"),
        one.pattern && `matches ${one.pattern}`,
        one.format && `format ${one.format}`,
        one.default !== undefined && `default ${JSON.stringify(one.default)}`,
        one.examples?.[0] !== undefined && `such as ${JSON.stringify(one.examples[0])}`,
      ].filter((text): text is string => typeof text === "string" && text !== "");
      return one.items ? [...list, ...this.constraints(one.items, trail).map((text) => `each: ${text}`)] : list;
    });
  }
}

function range(low: number | undefined, high: number | undefined, unit = ""): string | undefined {
  if (low === undefined) return high === undefined ? undefined : `at most ${high}${unit}`;
  return high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`;
}

/** Leaves out the bounds that every JSON number has. */
const bound = (value: number | undefined): number | undefined =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
