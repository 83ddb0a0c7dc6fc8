/** Values that a JSON Schema allows, and values that it does not. */
import fc, { type Arbitrary } from "fast-check";
import type { JsonSchema } from "./contract.ts";

/** Values for fields whose rules a schema cannot express, such as the name of something that must exist. */
export type Hints = Readonly<Record<string, Arbitrary<unknown>>>;

export class Generator {
  constructor(
    private readonly components: Readonly<Record<string, object>>,
    private readonly hints: Hints,
  ) {}

  valid(schema: JsonSchema, name = ""): Arbitrary<unknown> {
    const hint = this.hints[name];
    if (hint) return hint;
    const { $ref, enum: choices, anyOf, oneOf } = schema;
    if ($ref) return this.valid(this.components[$ref.slice($ref.lastIndexOf("/") + 1)] as JsonSchema, name);
    if ("const" in schema) return fc.constant(schema.const);
    if (choices) return fc.constantFrom(...choices);
    const branches = anyOf ?? oneOf;
    if (branches) return fc.oneof(...branches.map((one) => this.valid(one)));
    switch (schema.type) {
      case "object":
        return this.object(schema);
      case "array":
        if (schema.prefixItems) return fc.tuple(...schema.prefixItems.map((one) => this.valid(one)));
        return fc.array(this.valid(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 4, 4) });
      case "string":
        return text(schema);
      case "integer":
      case "number":
        return fc.integer({ min: schema.minimum ?? -(2 ** 31), max: schema.maximum ?? 2 ** 31 });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default:
        return fc.jsonValue();
    }
  }

  /** Usually an object in which one field is wrong; sometimes no object at all. */
  invalid(schema: JsonSchema): Arbitrary<unknown> {
    const names = Object.keys(schema.properties ?? {});
    const broken =
      names.length === 0
        ? fc.jsonValue()
        : fc
            .tuple(this.valid(schema), fc.constantFrom(...names), ANYTHING)
            .map(([value, name, wrong]) => ({ ...(value as object), [name]: wrong }));
    const without = fc
      .tuple(this.valid(schema), fc.subarray(names))
      .map(([value, gone]) =>
        Object.fromEntries(Object.entries(value as object).filter(([name]) => !gone.includes(name))),
      );
    return fc.oneof({ weight: 6, arbitrary: broken }, { weight: 2, arbitrary: without }, ANYTHING);
  }

  private object({ properties = {}, required = [] }: JsonSchema): Arbitrary<unknown> {
    const fields = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, this.valid(one, name)]));
    return fc.record(fields, { requiredKeys: [...required] });
  }
}

function text({ minLength = 0, maxLength = 40, pattern }: JsonSchema): Arbitrary<string> {
  if (pattern)
    return fc.stringMatching(new RegExp(pattern)).filter((one) => one.length <= maxLength && one.length >= minLength);
  return fc.string({ minLength, maxLength: Math.min(maxLength, 40), unit: "grapheme" });
}

/** Values that people and attackers put in the wrong place. */
export const ANYTHING: Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    2 ** 53,
    "",
    " ",
    "0",
    "..",
    "../../etc/passwd",
    "%00",
    "\u0000",
    "\ud800",
    "'; DROP TABLE rooms; --",
    "<script>alert(1)</script>",
    "__proto__",
    "x".repeat(5000),
    [],
    {},
    [[[[]]]],
    { toString: 1, constructor: null },
  ),
  fc.string({ unit: "binary", maxLength: 60 }),
);
