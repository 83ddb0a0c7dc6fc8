/** Control plane: which rule and which keys apply to a channel. */
import { z } from "zod";
import type { Keyring } from "../../../access/keys/keyring.ts";
import type { Operator } from "../../../access/operators/operator.ts";
import { spaceOf } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { Store } from "../../../store/contract/store.ts";
import { checkedChannel } from "../../request/path-names.ts";
import { type Endpoint, endpoint, type Guard } from "../../server/endpoint.ts";
import { actions } from "../../shared/schemas.ts";
import type { AppIn } from "../app-in.ts";
import { shownRule, shownRules } from "../channel-rule-schemas.ts";

const response = lazily(() =>
  z
    .object({
      channel: z.string(),
      rule: shownRule()
        .extend({ index: z.int().describe("Its place in `channelRules`, from 0") })
        .nullable()
        .describe("null: no rule matches"),
      keys: z
        .array(
          z.object({
            keyId: z.string(),
            label: z.string().nullable(),
            type: z.enum(["publishable", "secret"]),
            actions: actions(),
          }),
        )
        .describe("Live keys with a pattern that matches the channel"),
    })
    .meta({ id: "ChannelRuleMatch" }),
);

interface ChannelRuleParts {
  readonly appIn: AppIn;
  readonly keyring: Pick<Keyring, "rulesOf" | "key">;
  readonly store: Pick<Store, "keys">;
}

export const channelRuleEndpoint = (guard: Guard<Operator>, { appIn, keyring, store }: ChannelRuleParts): Endpoint =>
  endpoint({
    tag: "applications",
    guard,
    scope: "app",
    method: "GET",
    path: "/api/internal/v1/apps/:app/channel-rules/match",
    summary: "Which channel rule applies to a channel, and which keys cover it",
    query: () => z.strictObject({ channel: z.string().describe("The name of a channel; it need not exist.") }),
    response,
    problems: ["not_found", "channel_reserved"],
    handle: async (call, { query }): Promise<Infer<typeof response>> => {
      const channel = checkedChannel(query.channel);
      const { id } = await appIn(call);
      const rules = keyring.rulesOf(spaceOf(id));
      const rule = rules.ruleFor(channel);
      const [shown] = rule ? shownRules([rule]) : [];
      const rows = await store.keys(id);
      const covering = rows.filter((row) => row.revoked === null && keyring.key(row.id)?.scope.matches(channel));
      return {
        channel,
        rule: rule && shown ? { index: rules.rules.indexOf(rule), ...shown } : null,
        keys: covering.map((row) => ({
          keyId: row.id,
          label: row.label,
          type: row.type,
          actions: [...row.actions],
        })),
      };
    },
  });
