import { expect, test } from "bun:test";
import { z } from "zod";
import { sentenceOf } from "./sentence.ts";

const messagesFor = (schema: z.ZodType, value: unknown): string[] =>
  schema
    .safeParse(value, { error: sentenceOf })
    .error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

const schema = z.object({
  type: z.enum(["publishable", "secret"]),
  channels: z.array(z.string()),
  label: z.string().min(1, "must not be empty"),
});

test("the error for a missing field says that it is missing and what it must be", () => {
  expect(messagesFor(schema, {})).toEqual([
    'type: is missing; it must be one of "publishable", "secret"',
    "channels: is missing; it must be a list",
    "label: is missing; it must be text",
  ]);
});

test("the error for a value of another type says what it must be; a schema's own message takes precedence", () => {
  expect(messagesFor(schema, { type: "public", channels: [7], label: "" })).toEqual([
    'type: must be one of "publishable", "secret"',
    "channels.0: must be text",
    "label: must not be empty",
  ]);
});
