/** Channel rules as the control plane accepts and shows them. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import {
  CHANNEL_RULES_MAX,
  GRACE_SECONDS_MAX,
  HISTORY_MESSAGES_MAX,
  HISTORY_SECONDS_MAX,
  STREAM_MAX_BYTES,
  STREAM_MIN_BYTES,
  STREAM_SECONDS_MAX,
} from "../../protocol/limits.ts";
import type { ChannelRule, Retention, StreamRule } from "../../protocol/patterns/channel-rules.ts";
import { pattern, whole } from "../shared/schemas.ts";

export const retention = lazily(() =>
  z
    .strictObject({
      messages: whole(1, HISTORY_MESSAGES_MAX).describe("How many of the newest messages are kept."),
      seconds: whole(1, HISTORY_SECONDS_MAX).describe("How long they are kept."),
    })
    .meta({ id: "Retention" }),
);

export const streamRule = lazily(() =>
  z
    .strictObject({
      seconds: whole(1, STREAM_SECONDS_MAX).describe("A stream that is not read or written for this long is deleted."),
      bytes: whole(STREAM_MIN_BYTES, STREAM_MAX_BYTES).describe("How much one stream may hold; it is never trimmed."),
    })
    .meta({ id: "StreamRule" }),
);

const channelRule = lazily(() =>
  z
    .strictObject({
      pattern: pattern().describe("Which channels."),
      history: retention().describe("Absent: messages are not kept.").optional(),
      stream: streamRule()
        .describe(
          "Channels are streams: each exists from its creation over HTTP until it is deleted. Not with history.",
        )
        .optional(),
      graceSec: whole(0, GRACE_SECONDS_MAX)
        .describe("How long a member stays in presence after losing its connection without a goodbye. Absent: 0.")
        .optional(),
    })
    .meta({ id: "ChannelRule" }),
);

/** As they are shown: every rule has its graceSec. */
export const shownRule = lazily(() =>
  z
    .object({
      pattern: z.string(),
      history: retention().optional(),
      stream: streamRule().describe("Its channels are streams.").optional(),
      graceSec: z.int(),
    })
    .meta({ id: "StoredChannelRule" }),
);

export const channelRules = lazily(() =>
  z
    .array(channelRule())
    .max(CHANNEL_RULES_MAX, `must have at most ${CHANNEL_RULES_MAX} entries`)
    .superRefine((rules, context) => {
      const first = new Map<string, number>();
      for (const [at, { pattern: text, history, stream }] of rules.entries()) {
        if (history && stream)
          context.addIssue({
            code: "custom",
            path: [at, "stream"],
            message: "cannot be in a rule with history; remove one of them",
          });
        const earlier = first.get(text);
        // It would never apply, and an operator who edits it would wonder why nothing changes.
        if (earlier !== undefined)
          context.addIssue({
            code: "custom",
            path: [at, "pattern"],
            message: `is also the pattern of channelRules.${earlier}, and only the first of them would ever apply; remove one`,
          });
        else first.set(text, at);
      }
    }),
);

export const toRules = (rules: Infer<typeof channelRules>): ChannelRule[] =>
  rules.map(({ pattern: text, history, stream, graceSec = 0 }) => ({
    pattern: text,
    ...(history && { history: { messages: history.messages, seconds: history.seconds } }),
    ...(stream && { stream: { seconds: stream.seconds, bytes: stream.bytes } }),
    graceSec,
  }));

export const shownRules = (rules: readonly ChannelRule[]): Infer<typeof shownRule>[] =>
  rules.map(({ history, stream, ...rule }) => ({
    ...rule,
    ...(history && { history: { ...history } }),
    ...(stream && { stream: { ...stream } }),
  }));

/** One line per rule, in order: the audit shows a list of texts as lines. */
export const rulesAsText = (rules: readonly ChannelRule[]): string[] =>
  rules.map(
    ({ pattern: text, history, stream, graceSec }) =>
      `${text}  ${[stream ? streams(stream) : kept(history), ...grace(graceSec)].join(", ")}`,
  );

const streams = ({ seconds, bytes }: StreamRule): string =>
  `streams of at most ${bytes} bytes, deleted when unused for ${seconds} s`;

const kept = (history: Retention | undefined): string =>
  history ? `keeps ${history.messages} messages for ${history.seconds} s` : "no history";

const grace = (seconds: number): string[] => (seconds > 0 ? [`grace ${seconds} s`] : []);
