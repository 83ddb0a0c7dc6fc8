/** Channel rules as the control plane accepts and shows them. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import {
  CHANNEL_RULES_MAX,
  GRACE_SECONDS_MAX,
  HISTORY_MESSAGES_MAX,
  HISTORY_SECONDS_MAX,
} from "../../protocol/limits.ts";
import type { ChannelRule, Retention } from "../../protocol/patterns/channel-rules.ts";
import { pattern, whole } from "../shared/schemas.ts";

export const retention = lazily(() =>
  z
    .strictObject({
      messages: whole(1, HISTORY_MESSAGES_MAX).describe("How many of the newest messages are kept."),
      seconds: whole(1, HISTORY_SECONDS_MAX).describe("How long they are kept."),
    })
    .meta({ id: "Retention" }),
);

const channelRule = lazily(() =>
  z
    .strictObject({
      pattern: pattern().describe("Which channels."),
      history: retention().describe("Absent: messages are not kept.").optional(),
      graceSec: whole(0, GRACE_SECONDS_MAX)
        .describe("How long a member stays in presence after losing its connection without a goodbye. Absent: 0.")
        .optional(),
    })
    .meta({ id: "ChannelRule" }),
);

/** As they are shown: every rule has its graceSec. */
export const shownRule = lazily(() =>
  z
    .object({ pattern: z.string(), history: retention().optional(), graceSec: z.int() })
    .meta({ id: "StoredChannelRule" }),
);

export const channelRules = lazily(() =>
  z
    .array(channelRule())
    .max(CHANNEL_RULES_MAX, `must have at most ${CHANNEL_RULES_MAX} entries`)
    .superRefine((rules, context) => {
      const first = new Map<string, number>();
      for (const [at, { pattern: text }] of rules.entries()) {
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
  rules.map(({ pattern: text, history, graceSec = 0 }) => ({
    pattern: text,
    ...(history && { history: { messages: history.messages, seconds: history.seconds } }),
    graceSec,
  }));

export const shownRules = (rules: readonly ChannelRule[]): Infer<typeof shownRule>[] =>
  rules.map(({ history, ...rule }) => ({ ...rule, ...(history && { history: { ...history } }) }));

/** One line per rule, in order: the audit shows a list of texts as lines. */
export const rulesAsText = (rules: readonly ChannelRule[]): string[] =>
  rules.map(({ pattern: text, history, graceSec }) => `${text}  ${[kept(history), ...grace(graceSec)].join(", ")}`);

const kept = (history: Retention | undefined): string =>
  history ? `keeps ${history.messages} messages for ${history.seconds} s` : "no history";

const grace = (seconds: number): string[] => (seconds > 0 ? [`grace ${seconds} s`] : []);
