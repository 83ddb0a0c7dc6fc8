/** Texts for zod's findings, worded to follow the name of the field: "channels.0: must be text". */
import type { z } from "zod";

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Returns undefined where zod's own text is used. A message that the schema defines takes precedence over both. */
export function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  const must = whatItMustBe(issue);
  if (must === undefined) return undefined;
  return issue.input === undefined ? `is missing; it must be ${must}` : `must be ${must}`;
}

function whatItMustBe(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") return TYPES[String(issue.expected)];
  if (issue.code !== "invalid_value") return undefined;
  const values = (issue.values as readonly unknown[]).map((value) => JSON.stringify(value));
  return values.length === 1 ? values[0] : `one of ${values.join(", ")}`;
}
