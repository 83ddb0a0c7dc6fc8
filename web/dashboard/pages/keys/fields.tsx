/** The fields of a key: what it covers, may do and where from, each with a test while one types. */
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { ACTIONS, type Action } from "../../../../src/protocol/actions.ts";
import {
  channelVerdict,
  exampleChannel,
  linesOf,
  originProblem,
  originVerdict,
  patternProblem,
  type Verdict,
} from "../../drafts/scope.ts";
import { Check, Text } from "../../ui/fields.tsx";

export interface KeyDraft {
  readonly type: "publishable" | "secret";
  readonly label: string;
  readonly patterns: string;
  readonly actions: readonly string[];
  readonly origins: string;
  readonly turn: boolean;
}

export const LABEL_MAX_CHARS = 128;

/** What a draft says, as the calls take it. */
export const bodyOf = ({ type, label, patterns, actions, origins, turn }: KeyDraft) => ({
  label: label.trim() || null,
  channelPatterns: linesOf(patterns),
  actions,
  turn,
  ...(type === "publishable" && { allowedOrigins: linesOf(origins) }),
});

export const isValid = ({ type, patterns, origins }: KeyDraft): boolean =>
  patternProblem(linesOf(patterns)) === undefined &&
  (type === "secret" || originProblem(linesOf(origins)) === undefined);

const MEANING: Readonly<Record<Action, string>> = {
  publish: "send messages to channels",
  subscribe: "receive messages from channels",
  presence: "see who is on a channel",
  send: "send direct messages to a peer",
};

interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly onChange: (draft: KeyDraft) => void;
}

export function KeyFields({ draft, onChange }: KeyFieldsProps) {
  const { type, label, patterns, actions, origins, turn } = draft;
  const set = (change: Partial<KeyDraft>): void => onChange({ ...draft, ...change });
  const lines = linesOf(patterns);
  const allowed = linesOf(origins);
  return (
    <>
      <Text
        label="Label"
        value={label}
        onInput={(value) => set({ label: value })}
        maxLength={LABEL_MAX_CHARS}
        placeholder="Web shop"
        help="For you: what the key is for."
      />
      <Text
        label="Channel patterns, one per line"
        rows={3}
        value={patterns}
        onInput={(value) => set({ patterns: value })}
        error={patternProblem(lines)}
        placeholder={"chat/*\norders/**"}
        help={
          <>
            <code>*</code> stands for anything without a slash, <code>**</code> for anything. Without a pattern, no
            channel is covered.
          </>
        }
      />
      <Tester
        label="Does this cover the channel"
        placeholder={exampleChannel(lines)}
        decide={(channel) => channelVerdict(lines, channel)}
      />
      <fieldset class="choices">
        <legend>Actions</legend>
        {ACTIONS.map((action) => (
          <Check
            key={action}
            label={action}
            help={MEANING[action]}
            checked={actions.includes(action)}
            onChange={(isOn) =>
              set({ actions: ACTIONS.filter((one) => (one === action ? isOn : actions.includes(one))) })
            }
          />
        ))}
      </fieldset>
      {type === "publishable" && (
        <>
          <Text
            label="Allowed origins, one per line"
            rows={2}
            value={origins}
            onInput={(value) => set({ origins: value })}
            error={originProblem(allowed)}
            placeholder="https://shop.example.com"
            help={
              <>
                Web pages that may connect. <code>https://*.example.com</code> allows exactly one more label,{" "}
                <code>*</code> every page, an empty list no browser. Programs that are not browsers send no origin, and
                pass.
              </>
            }
          />
          <Tester
            label="Does this allow the origin"
            placeholder="https://shop.example.com"
            decide={(origin) => originVerdict(allowed, origin)}
          />
        </>
      )}
      <fieldset class="choices">
        <legend>Calls</legend>
        <Check
          label="TURN credentials"
          help="Clients that connect get relay servers for calls in metadata.iceServers. This requires PARLEY_TURN_URLS."
          checked={turn}
          onChange={(isOn) => set({ turn: isOn })}
        />
      </fieldset>
    </>
  );
}

interface TesterProps {
  readonly label: string;
  readonly placeholder: string;
  readonly decide: (value: string) => Verdict;
}

/** A field to try something in, with the verdict beside it. */
function Tester({ label, placeholder, decide }: TesterProps) {
  const value = useSignal("");
  const id = useId();
  const tried = value.value.trim();
  const verdict = tried === "" ? undefined : decide(tried);
  return (
    <div class="tester">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="mono"
        value={value.value}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      <output for={id} class={verdict ? (verdict.isCovered ? "good" : "bad") : "muted"}>
        {verdict ? `${verdict.isCovered ? "✓ Yes." : "✗ No."} ${verdict.text}` : "Enter one to find out."}
      </output>
    </div>
  );
}
