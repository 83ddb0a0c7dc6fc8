/** Values by a JSON Schema, from a seed: allowed, nearly allowed, or unrelated to it. */
import type { JsonSchema } from "../../support/contract.ts";
import type { Chance } from "../../support/random.ts";

/** Values for fields whose rules a schema cannot express, such as the name of something that must exist. */
export type Hints = Readonly<Record<string, readonly unknown[]>>;

export const HOSTILE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -0,
  1.5,
  1e300,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  "",
  " ",
  "0",
  "null",
  "undefined",
  "NaN",
  "true",
  ".",
  "..",
  "../../etc/passwd",
  "..\\..\\windows",
  "%00",
  "%2e%2e%2f",
  "\u0000",
  "\u0001\u001f\u007f",
  "\ud800",
  "\udc00\ud800",
  "\ufeff",
  "\u202e\u200d",
  "e\u0301",
  "ﷺ".repeat(20),
  "🙂",
  "'; DROP TABLE rooms; --",
  "' OR '1'='1",
  "$(id)",
  "`id`",
  "{{7*7}}",
  "#{7*7}",
  "<script>alert(1)</script>",
  "\r\nSet-Cookie: a=b",
  "__proto__",
  "constructor",
  "toString",
  "**",
  "*",
  "_internal/x",
  "_PARLEY/x",
  "a".repeat(129),
  "a".repeat(257),
  "x".repeat(5000),
  "*a".repeat(200),
  [],
  [null],
  [[[[[]]]]],
  {},
  { a: { a: { a: {} } } },
  { toString: 1, constructor: null },
  { length: 3 },
];

/** For a query or a form. */
export const asText = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

export const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

export class Values {
  constructor(
    private readonly chance: Chance,
    private readonly components: Readonly<Record<string, object>>,
    public hints: Hints,
  ) {}

  valid(schema: JsonSchema, name = "", depth = 0): unknown {
    const { chance } = this;
    const hint = this.hints[name];
    if (hint && depth <= 1) return chance.pick(hint);
    const { $ref, enum: choices, anyOf, oneOf } = schema;
    if ($ref) return this.valid(this.components[$ref.slice($ref.lastIndexOf("/") + 1)] as JsonSchema, name, depth);
    if ("const" in schema) return schema.const;
    if (choices) return chance.pick(choices);
    const branches = anyOf ?? oneOf;
    if (branches) return this.valid(chance.pick(branches), "", depth);
    switch (schema.type) {
      case "object":
        return this.object(schema, depth);
      case "array":
        if (schema.prefixItems) return schema.prefixItems.map((one) => this.valid(one, "", depth + 1));
        return Array.from({ length: chance.below(Math.min(schema.maxItems ?? 4, 4) + 1) }, () =>
          this.valid(schema.items ?? {}, "", depth + 1),
        );
      case "string":
        return this.text(schema);
      case "integer":
      case "number":
        return this.integer(schema.minimum ?? -(2 ** 31), schema.maximum ?? 2 ** 31);
      case "boolean":
        return chance.once(2);
      case "null":
        return null;
      default:
        return this.anything();
    }
  }

  /** Usually an object in which one thing is wrong; sometimes no object at all. */
  invalid(schema: JsonSchema): unknown {
    const { chance } = this;
    const whole = this.valid(schema);
    const names = Object.keys(schema.properties ?? {});
    if (typeof whole !== "object" || whole === null || names.length === 0 || chance.once(8)) return this.anything();
    const fields = { ...(whole as Record<string, unknown>) };
    const name = chance.pick(names);
    switch (chance.below(5)) {
      case 0:
        delete fields[chance.pick(schema.required?.length ? schema.required : names)];
        return fields;
      case 1:
        // One letter different: a typo must be detected.
        return { ...fields, [name.slice(0, -1)]: fields[name] ?? this.anything() };
      case 2:
        return { ...fields, [chance.pick(["__proto__", "constructor", "x", "", "id", "admin"])]: this.anything() };
      default:
        return { ...fields, [name]: this.anything() };
    }
  }

  anything(depth = 2): unknown {
    const { chance } = this;
    switch (chance.below(depth > 0 ? 8 : 6)) {
      case 0:
        return chance.bits();
      case 1:
        return chance.bytes(chance.below(40)).toString(chance.once(2) ? "utf8" : "latin1");
      case 6:
        return Array.from({ length: chance.below(4) }, () => this.anything(depth - 1));
      case 7:
        return Object.fromEntries(
          Array.from({ length: chance.below(4) }, (_, at) => [`k${at}`, this.anything(depth - 1)]),
        );
      default:
        return chance.pick(HOSTILE);
    }
  }

  private object({ properties = {}, required = [] }: JsonSchema, depth: number): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (const [name, one] of Object.entries(properties))
      if (required.includes(name) || this.chance.once(3)) fields[name] = this.valid(one, name, depth + 1);
    return fields;
  }

  /** Our documents' patterns allow letters, or printable ASCII; a value that a pattern refuses is still a valid test. */
  private text({ minLength = 0, maxLength = 30 }: JsonSchema): string {
    let text = "";
    for (let left = minLength + this.chance.below(Math.min(maxLength, 30) - Math.min(minLength, 29)); left >= 0; left--)
      text += LETTERS[this.chance.below(LETTERS.length)];
    return text;
  }

  private integer(min: number, max: number): number {
    switch (this.chance.below(4)) {
      case 0:
        return min;
      case 1:
        return max;
      case 2:
        return Math.min(max, Math.max(min, 0) + this.chance.below(10));
      default:
        return min + Math.floor((this.chance.bits() / 2 ** 32) * (max - min));
    }
  }
}
