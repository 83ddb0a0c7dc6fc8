/** Schemas that several endpoints share. A schema is the check, the type and the documentation at once. */
import { z } from "zod";
import { LABEL_MAX_CHARS, ORIGINS_MAX, ROTATION_GRACE_MAX_SECONDS } from "../../access/limits.ts";
import { lazily } from "../../base/lazily.ts";
import { ACTIONS } from "../../protocol/actions.ts";
import { Problem } from "../../protocol/codes.ts";
import { isObject, type JsonObject } from "../../protocol/json.ts";
import { KIB, MESSAGE_ID_MAX_CHARS, PATTERNS_MAX, PEER_ID_MAX_CHARS } from "../../protocol/limits.ts";
import { hasControl, isMessageId, isPeerId, isWellFormed, utf8Bytes } from "../../protocol/names.ts";
import { normalizeOrigin } from "../../protocol/origin.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";

export const peerId = lazily(() =>
  z
    .custom<string>(isPeerId, `must be 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters`)
    .meta({ type: "string", minLength: 1, maxLength: PEER_ID_MAX_CHARS, pattern: "^[ -~]+$" }),
);

export const messageId = lazily(() =>
  z
    .custom<string>(isMessageId, `must be 1 to ${MESSAGE_ID_MAX_CHARS} printable ASCII characters`)
    .meta({ type: "string", minLength: 1, maxLength: MESSAGE_ID_MAX_CHARS, pattern: "^[ -~]+$" }),
);

/** An object that is passed on as the text in which it came, unchanged. `checkBagSize` limits that text. */
export const bag = lazily(() =>
  z.custom<JsonObject>(isObject, "must be an object").meta({ type: "object", additionalProperties: true }),
);

/** The size is that of the text as it was sent, spaces included. */
export function checkBagSize(field: string, json: string | undefined, maxBytes: number): void {
  if (json === undefined || utf8Bytes(json) <= maxBytes) return;
  const message = `must be at most ${maxBytes} bytes as JSON, spaces included`;
  throw new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
}

export const pattern = lazily(() =>
  z
    .string()
    .superRefine((text, context) => {
      const glob = parseGlob(text);
      if (typeof glob === "string") context.addIssue({ code: "custom", message: glob });
    })
    .meta({ examples: ["chat/*"] }),
);

export const patterns = lazily(() => z.array(pattern()).max(PATTERNS_MAX, `must have at most ${PATTERNS_MAX} entries`));

export const actions = lazily(() => z.array(z.enum(ACTIONS)));

const originsOf = (whatIsAllowed: string, isAllowed: (origin: string) => boolean) =>
  z
    .array(
      z.string().transform((text, context) => {
        const origin = normalizeOrigin(text);
        if (origin !== undefined && isAllowed(origin)) return origin;
        context.addIssue({ code: "custom", message: `must be an origin: ${whatIsAllowed}` });
        return z.NEVER;
      }),
    )
    .max(ORIGINS_MAX, `must have at most ${ORIGINS_MAX} entries`);

export const origins = lazily(() => originsOf("https://example.com, https://*.example.com or *", () => true));

/** Without `*`: with it, every page could turn a visitor's camera on in its frame. */
export const frameOrigins = lazily(() =>
  originsOf("https://example.com or https://*.example.com", (origin) => origin !== "*" && /^https?:/.test(origin)),
);

/** One line, for people. */
export const note = (maxChars: number) =>
  z
    .string()
    .max(maxChars, `must have at most ${maxChars} characters`)
    .refine((text) => !hasControl(text) && isWellFormed(text), "must be text without control characters")
    .nullable();

export const label = lazily(() => note(LABEL_MAX_CHARS));

/** How long the secret that a rotation replaces still works. */
export const graceSec = lazily(() => z.int().min(0).max(ROTATION_GRACE_MAX_SECONDS).optional());

export const retirePrevious = lazily(() =>
  z.boolean().describe("After a leak: every earlier secret ends now, regardless of graceSec.").optional(),
);

/** For descriptions: 4096 → "4 KiB". */
export const kilobytes = (bytes: number): string => `${bytes / KIB} KiB`;

export const unixSeconds = lazily(() => z.int().meta({ description: "Unix seconds" }));

export const toSeconds = (ms: number): number => Math.floor(ms / 1000);
export const toSecondsOrNull = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms));

/** An integer in a body. What is wrong with it is said with the whole range. */
export const whole = (min: number, max: number) => {
  const text = `a whole number from ${min} to ${max}`;
  const error = ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? `is missing; it must be ${text}` : `must be ${text}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

/** An integer in a query string. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .meta({ type: "integer", minimum: min, maximum: max });

/** The `limit` parameter of a list: entries per page. */
export const limit = (max: number, initial: number) =>
  wholeNumber(1, max)
    .optional()
    .transform((value) => value ?? initial);
