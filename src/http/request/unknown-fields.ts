/**
 * Refuses unknown fields in bodies that are declared with z.strictObject. Where a missing field means "everything", a misspelt
 * one would grant more than was meant.
 */
import { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import { didYouMean, nearest } from "../../protocol/did-you-mean.ts";
import { isObject } from "../../protocol/json.ts";

/** Longer names are not shown: one may be a secret pasted into the wrong place, and our secrets are all longer. */
const NAME_SHOWN_MAX_CHARS = 40;

interface Unknown {
  readonly field: string;
  readonly name: string;
  readonly known: readonly string[];
}

export function refuseUnknownFields(schema: z.ZodType, value: unknown): void {
  const unknown = unknownIn(schema, value, "");
  if (!unknown) return;
  const { field, name, known } = unknown;
  const hint = nearest(name, known) ? didYouMean(name, known) : `; there are ${known.join(", ")}.`;
  const message = `there is no such field${known.length > 0 ? hint : ": the body must be empty."}`;
  throw new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
}

function unknownIn(schema: z.ZodType, value: unknown, path: string): Unknown | undefined {
  const object = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (object instanceof z.ZodArray && Array.isArray(value)) return unknownInList(object, value, path);
  if (!(object instanceof z.ZodObject) || !isObject(value)) return undefined;
  const known = Object.keys(object.shape);
  const isStrict = object.def.catchall instanceof z.ZodNever;
  const wrong = isStrict ? Object.keys(value).find((key) => !Object.hasOwn(object.shape, key)) : undefined;
  if (wrong !== undefined) {
    const name = wrong.length > NAME_SHOWN_MAX_CHARS ? "(a long name)" : wrong.toWellFormed();
    return { field: path + name, name, known };
  }
  for (const name of known) {
    const found = Object.hasOwn(value, name)
      ? unknownIn(object.shape[name] as z.ZodType, value[name], `${path}${name}.`)
      : undefined;
    if (found) return found;
  }
  return undefined;
}

function unknownInList(list: z.ZodArray, values: readonly unknown[], path: string): Unknown | undefined {
  // A caller may send 60,000 entries: those without fields are not read, and the schema refuses a list that is too long by its length alone.
  if (!hasFields(list.element as z.ZodType) || values.length > maxLengthOf(list)) return undefined;
  for (const [at, value] of values.entries()) {
    const found = unknownIn(list.element as z.ZodType, value, `${path}${at}.`);
    if (found) return found;
  }
  return undefined;
}

const hasFields = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodOptional
    ? hasFields(schema.unwrap() as z.ZodType)
    : schema instanceof z.ZodObject || schema instanceof z.ZodArray;

function maxLengthOf({ def }: z.ZodArray): number {
  for (const { _zod } of def.checks ?? [])
    if (_zod.def.check === "max_length") return (_zod.def as z.core.$ZodCheckMaxLengthDef).maximum;
  return Number.POSITIVE_INFINITY;
}
