/** One rule in a form. It changes the list on the page, which is saved as a whole. */
import { useSignal } from "@preact/signals";
import {
  type ChannelRule,
  draftOf,
  GRACE_SECONDS_MAX,
  HISTORY_MESSAGES_MAX,
  KINDS,
  problemsOf,
  type RuleDraft,
  type RuleKind,
  ruleOf,
  UNITS,
} from "../../drafts/rule-draft.ts";
import { Dialog, Form } from "../../ui/dialog.tsx";
import { Select, Text } from "../../ui/fields.tsx";

interface ChannelRuleDialogProps {
  /** undefined: a new one. */
  readonly rule: ChannelRule | undefined;
  readonly others: readonly ChannelRule[];
  readonly onDone: (rule: ChannelRule) => void;
  readonly onClose: () => void;
}

const ABOUT: Readonly<Record<RuleKind, string>> = {
  none: "They reach current subscribers, and are not stored.",
  history:
    "They are stored before they are delivered. Clients can read them back, and recover what they missed. The oldest are removed.",
  stream:
    "Backends create each stream over HTTP. It keeps everything that is written to it until it is deleted; when it is full, writes are refused. A channel without a stream takes no messages.",
};

export function ChannelRuleDialog({ rule, others, onDone, onClose }: ChannelRuleDialogProps) {
  const draft = useSignal(draftOf(rule));
  const set = (change: Partial<RuleDraft>): void => {
    draft.value = { ...draft.value, ...change };
  };
  const { pattern, kind, messages, size, length, unit, grace } = draft.value;
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
        <Select
          label="Messages"
          value={kind}
          options={KINDS}
          onChange={(value) => set({ kind: value })}
          help={ABOUT[kind]}
        />
        {kind !== "none" && (
          <div class="halves">
            {kind === "history" ? (
              <Text
                label="Newest messages kept"
                type="number"
                min={1}
                max={HISTORY_MESSAGES_MAX}
                value={messages}
                onInput={(value) => set({ messages: value })}
                error={problems.messages}
              />
            ) : (
              <Text
                label="Largest stream (MiB)"
                type="number"
                min={0.0625}
                step={0.0625}
                value={size}
                onInput={(value) => set({ size: value })}
                error={problems.size}
              />
            )}
            <div class="halves">
              <Text
                label={kind === "history" ? "Kept for" : "Deleted when unused for"}
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
