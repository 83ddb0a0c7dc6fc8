/** Shapes that several endpoints share. A schema is the check, the type and the documentation at once. */
import { z } from "zod";
import { normalizeOrigin } from "../access/origin.ts";
import { ACTIONS } from "../protocol/actions.ts";
import { parseGlob } from "../protocol/glob.ts";
import { isObject, type JsonObject, jsonBytes } from "../protocol/json.ts";
import { LABEL_MAX_CHARS, ORIGINS_MAX, PATTERNS_MAX, PEER_ID_MAX_CHARS } from "../protocol/limits.ts";
import { hasControl, isPeerId, isWellFormed } from "../protocol/names.ts";

export const peerId = z
  .custom<string>(isPeerId, `must be 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters`)
  .meta({ type: "string", minLength: 1, maxLength: PEER_ID_MAX_CHARS, pattern: "^[ -~]+$" });

/** Checked as it is and handed on as it is: nothing inside is ours to change. */
export const bag = (maxBytes: number) =>
  z
    .custom<JsonObject>(isObject, "must be an object")
    .refine((value) => jsonBytes(value) <= maxBytes, `must be at most ${maxBytes} bytes as JSON`)
    .meta({ type: "object", additionalProperties: true });

export const pattern = z
  .string()
  .superRefine((text, context) => {
    const glob = parseGlob(text);
    if (typeof glob === "string") context.addIssue({ code: "custom", message: glob });
  })
  .meta({ examples: ["chat/*"] });

export const patterns = z.array(pattern).max(PATTERNS_MAX, `must have at most ${PATTERNS_MAX} entries`);

export const actions = z.array(z.enum(ACTIONS));

export const origins = z
  .array(
    z.string().transform((text, context) => {
      const origin = normalizeOrigin(text);
      if (origin !== undefined) return origin;
      context.addIssue({
        code: "custom",
        message: "must be an origin: https://example.com, https://*.example.com or *",
      });
      return z.NEVER;
    }),
  )
  .max(ORIGINS_MAX, `must have at most ${ORIGINS_MAX} entries`);

export const label = z
  .string()
  .max(LABEL_MAX_CHARS, `must have at most ${LABEL_MAX_CHARS} characters`)
  .refine((text) => !hasControl(text) && isWellFormed(text), "must be text without control characters")
  .nullable();

export const unixSeconds = z.int().meta({ description: "Unix seconds" });

export const toSeconds = (ms: number): number => Math.floor(ms / 1000);
export const toSecondsOrNull = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms));

/** A number in a query string. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .meta({ type: "integer", minimum: min, maximum: max });

/** How many entries a page of a list has. */
export const limit = (max: number, initial: number) =>
  wholeNumber(1, max)
    .optional()
    .transform((value) => value ?? initial);
