/** Shapes of webhooks, which the application API and the control plane share: what a request may set, and what answers show. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import {
  PATTERNS_MAX,
  WEBHOOK_DESCRIPTION_MAX_CHARS,
  WEBHOOK_HOST_MAX_CHARS,
  WEBHOOK_MAX_CHARS,
} from "../../protocol/limits.ts";
import { isWebAddress, maskedAddress } from "../../protocol/web-address.ts";
import type { WebhookState } from "../../store/contract/webhooks.ts";
import { signingAt, type WebhookEntry } from "../../webhooks/endpoints/book.ts";
import { HEADER_MASK, isHeaderValue, whyNoHeaderName } from "../../webhooks/endpoints/checks.ts";
import type { WebhookEdit, WebhookFields } from "../../webhooks/endpoints/endpoints.ts";
import { whyNoPattern } from "../../webhooks/events/types.ts";
import { EVENTS_MAX, HEADER_VALUE_MAX_CHARS, HEADERS_MAX } from "../../webhooks/limits.ts";
import { graceSec, note, pattern, toSeconds, toSecondsOrNull, unixSeconds } from "./schemas.ts";

const URL_RULE = `must be an http or https address of at most ${WEBHOOK_MAX_CHARS} characters, with a host of at most ${WEBHOOK_HOST_MAX_CHARS}`;

const url = lazily(() =>
  z
    .string()
    .max(WEBHOOK_MAX_CHARS, { error: URL_RULE, abort: true })
    .refine(isWebAddress, URL_RULE)
    .meta({ examples: ["https://example.com/webhooks/parley"] }),
);

const event = lazily(() =>
  z.string().superRefine((text, context) => {
    const why = whyNoPattern(text);
    if (why !== undefined) context.addIssue({ code: "custom", message: why });
  }),
);

const events = lazily(() =>
  z
    .array(event())
    .min(1, "must name at least one event")
    .max(EVENTS_MAX, { error: `must have at most ${EVENTS_MAX} entries`, abort: true })
    .meta({ examples: [["recording.ready", "meeting.*"]] }),
);

const channelPatterns = lazily(() =>
  z
    .array(pattern())
    .min(1, "must name at least one pattern; null removes the list")
    .max(PATTERNS_MAX, { error: `must have at most ${PATTERNS_MAX} entries`, abort: true })
    .nullable(),
);

/** Bound at once: each entry is checked by expressions. */
const HEADERS_READ_MAX = 2 * HEADERS_MAX;

const headers = <T extends z.ZodType<string | null>>(value: T) =>
  z
    .record(z.string(), value)
    .refine((given) => Object.keys(given).length <= HEADERS_READ_MAX, {
      error: `an endpoint has at most ${HEADERS_MAX} headers`,
      abort: true,
    })
    .superRefine((given, context) => {
      for (const name of Object.keys(given)) {
        const why = whyNoHeaderName(name);
        if (why !== undefined) context.addIssue({ code: "custom", message: why, path: [name] });
      }
    })
    .meta({ examples: [{ "X-Tenant": "acme" }] });

const headerValue = lazily(() =>
  z
    .string()
    .refine(
      isHeaderValue,
      `must be 1 to ${HEADER_VALUE_MAX_CHARS} printable ASCII characters, without a space at either end`,
    ),
);

const description = lazily(() => note(WEBHOOK_DESCRIPTION_MAX_CHARS).describe("A note to yourself"));

const EVENTS = "Types of events, groups such as meeting.*, or * for all";
const PATTERNS = "Channels to watch: required for channel.*, peer.* and message.published";

export const newWebhook = lazily(() =>
  z.strictObject({
    url: url(),
    events: events().describe(EVENTS),
    channelPatterns: channelPatterns().optional().describe(PATTERNS),
    description: description().optional(),
    disabled: z.boolean().optional().describe("true: sends no events until it is enabled"),
    headers: headers(headerValue())
      .optional()
      .describe(
        `Sent with every request; at most ${HEADERS_MAX}. Their values are kept encrypted, and not shown any more.`,
      ),
  }),
);

export const webhookEdit = lazily(() =>
  z.strictObject({
    url: url().optional(),
    events: events().optional().describe(EVENTS),
    channelPatterns: channelPatterns().optional().describe(PATTERNS),
    description: description().optional(),
    disabled: z
      .boolean()
      .optional()
      .describe("false: enables it again, even after it was disabled because of failures"),
    headers: headers(headerValue().nullable())
      .optional()
      .describe(`Sets these headers and leaves the others unchanged; null removes one, ${HEADER_MASK} keeps it.`),
  }),
);

export const rotation = lazily(() =>
  z.strictObject({
    graceSec: graceSec().describe(
      "How long the current secret still signs as well. Absent: PARLEY_ROTATION_GRACE_SECONDS.",
    ),
  }),
);

const health = lazily(() =>
  z
    .object({
      state: z
        .enum(["new", "ok", "failing", "disabled"])
        .describe("new: nothing was sent yet; failing: the last attempt failed"),
      waiting: z.int().describe("Events waiting to be sent or retried"),
      delivered: z.int(),
      failed: z.int().describe("Events with no attempts left; replay sends them again"),
      dropped: z.int().describe("Events dropped because too many were waiting"),
      lastAttempt: unixSeconds().nullable(),
      lastSuccess: unixSeconds().nullable(),
      failingSince: unixSeconds().nullable(),
      lastStatus: z.int().nullable().describe("Status of the last response; null: there was none"),
      lastError: z.string().nullable(),
      slowUntil: unixSeconds().nullable().describe("It asked for fewer requests: nothing is sent before this time"),
    })
    .meta({ id: "WebhookHealth" }),
);

export const webhook = lazily(() =>
  z
    .object({
      _id: z.string(),
      app: z.string(),
      kind: z
        .enum(["control", "application", "room"])
        .describe("Who created it: operators, the application's backend, or a URL field of its rooms"),
      url: z.string().describe("Operators with the role read see only its origin"),
      events: z.array(z.string()).describe("Empty for a URL of rooms: it gets the events of the fields that name it"),
      channelPatterns: z.array(z.string()).nullable(),
      description: z.string().nullable(),
      headers: z.record(z.string(), z.literal(HEADER_MASK)).describe("Header values are never shown"),
      disabled: z.boolean(),
      disabledAt: unixSeconds().nullable(),
      disabledReason: z
        .enum(["request", "gone", "failing"])
        .nullable()
        .describe("gone: it answered 410; failing: no request has succeeded for five days"),
      created: unixSeconds(),
      canSign: z.boolean().describe("false: the master key cannot decrypt its secret, so nothing is sent"),
      previousSecrets: z
        .array(z.object({ endsAt: unixSeconds() }))
        .describe("Previous secrets that also still sign, and until when; newest first"),
      health: health(),
    })
    .meta({ id: "Webhook" }),
);

export const createdWebhook = lazily(() =>
  webhook()
    .extend({ secret: z.string().describe("whsec_…: returned only here and by rotate") })
    .meta({ id: "CreatedWebhook" }),
);

export const rotatedWebhook = lazily(() =>
  z
    .object({ _id: z.string(), secret: z.string(), previousSecretExpiresAt: unixSeconds() })
    .meta({ id: "RotatedWebhook" }),
);

export const roomSecrets = lazily(() =>
  z
    .object({
      data: z.array(
        z.object({
          field: z.string().describe("A URL field of the room"),
          event: z.string().describe("The type of event that it gets"),
          url: z.string(),
          secret: z.string().describe("whsec_…: follows from the application and the URL"),
          _id: z.string().describe("The webhook that this URL is, once something was sent to it"),
        }),
      ),
    })
    .meta({ id: "RoomWebhookSecrets" }),
);

/** What a caller may see of webhooks. */
export interface Sight {
  /** Addresses, and what endpoints have answered. */
  readonly secrets: boolean;
  /** What was sent. */
  readonly payloads: boolean;
}

export const toFields = (body: Infer<typeof newWebhook>): WebhookFields => ({
  url: body.url,
  events: body.events,
  channelPatterns: body.channelPatterns ?? null,
  description: body.description ?? null,
  disabled: body.disabled ?? false,
  headers: body.headers ?? {},
});

export const toEdit = ({
  url,
  events,
  channelPatterns,
  description,
  disabled,
  headers,
}: Infer<typeof webhookEdit>): WebhookEdit => ({
  url,
  events,
  channelPatterns,
  description,
  disabled,
  headers,
});

export function webhookFields(
  entry: WebhookEntry,
  state: WebhookState | undefined,
  sight: Pick<Sight, "secrets">,
  nowMs: number,
): Infer<typeof webhook> {
  const { row, secrets } = entry;
  return {
    _id: row.id,
    app: row.app,
    kind: row.kind,
    url: sight.secrets ? row.url : maskedAddress(row.url),
    events: [...row.events],
    channelPatterns: row.channelPatterns && [...row.channelPatterns],
    description: row.description,
    headers: Object.fromEntries(row.headerNames.map((name) => [name, HEADER_MASK])),
    disabled: row.disabled !== null,
    disabledAt: toSecondsOrNull(row.disabled),
    disabledReason: row.disabledWhy,
    created: toSeconds(row.created),
    canSign: secrets.length > 0,
    previousSecrets: signingAt(entry, nowMs).flatMap(({ ends }) =>
      ends === null ? [] : [{ endsAt: toSeconds(ends) }],
    ),
    health: healthFields(row.disabled !== null, state),
  };
}

const healthFields = (isDisabled: boolean, state: WebhookState | undefined): Infer<typeof health> => ({
  state: isDisabled ? "disabled" : stateOf(state),
  waiting: state?.backlog ?? 0,
  delivered: state?.delivered ?? 0,
  failed: state?.failed ?? 0,
  dropped: state?.dropped ?? 0,
  lastAttempt: toSecondsOrNull(state?.attemptedAt ?? null),
  lastSuccess: toSecondsOrNull(state?.succeededAt ?? null),
  failingSince: toSecondsOrNull(state?.failingSince ?? null),
  lastStatus: state?.lastStatus ?? null,
  lastError: state?.lastError ?? null,
  slowUntil: toSecondsOrNull(state?.slowUntil ?? null),
});

const stateOf = (state: WebhookState | undefined): "new" | "ok" | "failing" => {
  if (!state || state.attemptedAt === null) return "new";
  return state.failingSince === null ? "ok" : "failing";
};

/** For the audit, which every operator reads. */
export const auditedWebhook = ({
  url,
  events,
  channelPatterns,
  description,
  headerNames,
  disabled,
}: WebhookEntry["row"]) => ({
  url: maskedAddress(url),
  events: [...events],
  channelPatterns: channelPatterns && [...channelPatterns],
  description,
  headers: [...headerNames],
  disabled: disabled !== null,
});
