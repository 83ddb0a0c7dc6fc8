import { expect, test } from "bun:test";
import { z } from "zod";
import { sentenceOf } from "./sentence.ts";

const said = (schema: z.ZodType, value: unknown): string[] =>
  schema
    .safeParse(value, { error: sentenceOf })
    .error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

const schema = z.object({
  type: z.enum(["publishable", "secret"]),
  channels: z.array(z.string()),
  label: z.string().min(1, "must not be empty"),
});

test("a field that is missing is said to be, with what it must be", () => {
  expect(said(schema, {})).toEqual([
    'type: is missing; it must be one of "publishable", "secret"',
    "channels: is missing; it must be a list",
    "label: is missing; it must be text",
  ]);
});

test("a value of another kind is told what it must be, and a schema's own message goes before", () => {
  expect(said(schema, { type: "public", channels: [7], label: "" })).toEqual([
    'type: must be one of "publishable", "secret"',
    "channels.0: must be text",
    "label: must not be empty",
  ]);
});
