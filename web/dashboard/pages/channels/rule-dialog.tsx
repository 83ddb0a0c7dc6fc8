/** One rule in a form. It changes the list on the page, which is saved as a whole. */
import { useSignal } from "@preact/signals";
import {
  type ChannelRule,
  draftOf,
  GRACE_SECONDS_MAX,
  HISTORY_MESSAGES_MAX,
  problemsOf,
  type RuleDraft,
  ruleOf,
  UNITS,
} from "../../drafts/rule-draft.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { Check, Select, Text } from "../../ui/fields.tsx";

interface ChannelRuleDialogProps {
  /** undefined: a new one. */
  readonly rule: ChannelRule | undefined;
  readonly others: readonly ChannelRule[];
  readonly onDone: (rule: ChannelRule) => void;
  readonly onClose: () => void;
}

export function ChannelRuleDialog({ rule, others, onDone, onClose }: ChannelRuleDialogProps) {
  const draft = useSignal(draftOf(rule));
  const set = (change: Partial<RuleDraft>): void => {
    draft.value = { ...draft.value, ...change };
  };
  const { pattern, isKept, messages, length, unit, grace } = draft.value;
  const problems = problemsOf(draft.value);
  const isTaken = others.some((one) => one.pattern === pattern.trim());
  return (
    <Dialog title={rule ? "Edit the rule" : "Add a rule"} onClose={onClose}>
      <Form
        submit={rule ? "Change" : "Add"}
        isDisabled={!problems.isComplete || isTaken}
        onSubmit={async () => onDone(ruleOf(draft.value))}
        onCancel={onClose}
      >
        <Text
          label="Pattern"
          value={pattern}
          onInput={(value) => set({ pattern: value })}
          error={isTaken ? "Another rule already has this pattern." : problems.pattern}
          placeholder="chat/**"
          isRequired
          help={
            <>
              Which channels. <code>*</code> stands for anything without a slash, <code>**</code> for anything.
            </>
          }
        />
        <Check
          label="Keep history"
          help="Messages are stored before they are delivered. Clients can read them back, and recover what they missed."
          checked={isKept}
          onChange={(checked) => set({ isKept: checked })}
        />
        {isKept && (
          <div class="halves">
            <Text
              label="Newest messages kept"
              type="number"
              min={1}
              max={HISTORY_MESSAGES_MAX}
              value={messages}
              onInput={(value) => set({ messages: value })}
              error={problems.messages}
            />
            <div class="halves">
              <Text
                label="Kept for"
                type="number"
                min={1}
                value={length}
                onInput={(value) => set({ length: value })}
                error={problems.length}
              />
              <Select label="Unit" value={unit} options={UNITS} onChange={(value) => set({ unit: value })} />
            </div>
          </div>
        )}
        <Text
          label="Grace in seconds"
          type="number"
          min={0}
          max={GRACE_SECONDS_MAX}
          value={grace}
          onInput={(value) => set({ grace: value })}
          error={problems.grace}
          help="How long a member stays in presence after its connection is lost. 0: it leaves at once."
        />
      </Form>
    </Dialog>
  );
}
