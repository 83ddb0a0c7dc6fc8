/** What a node does with its history besides reading and appending: trimming, and changes of rules. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import { RuleChanges } from "../../history/rule-changes.ts";
import { HistoryTrimming } from "../../history/trimming.ts";
import type { NodeContext } from "./context.ts";

export function buildTrimming({ history, keyring, log }: NodeContext & { readonly keyring: Keyring }): HistoryTrimming {
  return new HistoryTrimming({
    history,
    // Another node may have created an application that this one does not know yet.
    maxBytesOf: (app) => keyring.app(app)?.maxHistoryBytes ?? Number.POSITIVE_INFINITY,
    failed: (err) => log.error({ err }, "the history could not be trimmed; trying again every second"),
  });
}

interface RuleParts extends NodeContext {
  readonly keyring: Keyring;
  readonly clock: Clock;
}

export const buildRuleChanges = ({ history, keyring, clock, log }: RuleParts): RuleChanges =>
  new RuleChanges({
    history,
    keyring,
    clock,
    failed: (err, app) => log.error({ err, app }, "history could not be adapted to the channel rules; trying again"),
  });
