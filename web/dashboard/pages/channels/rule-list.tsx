/** The rules of an application in their order, with buttons to move, edit and delete them. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { mayChange } from "../../api/session.ts";
import { shadowOf } from "../../drafts/rule-changes.ts";
import { type ChannelRule, retentionText, span, streamText } from "../../drafts/rule-draft.ts";
import { Empty } from "../../ui/notice.tsx";
import { type Column, Table } from "../../ui/table.tsx";

interface ChannelRuleListProps {
  readonly rules: readonly ChannelRule[];
  /** The place of the rule that the service has refused, and why. */
  readonly refused: number;
  readonly refusal: string;
  readonly onChange: (rules: readonly ChannelRule[]) => void;
  readonly onEdit: (place: number) => void;
}

const none = <span class="muted">none</span>;
const focus = (id: string): void => document.getElementById(id)?.focus();

export function ChannelRuleList({ rules, refused, refusal, onChange, onEdit }: ChannelRuleListProps) {
  const said = useSignal("");
  const last = rules.length - 1;
  // Comparing patterns can take long: only when they change.
  const shadows = useMemo(() => rules.map((_, at) => shadowOf(rules, at)), [rules]);
  const move = (from: number, by: 1 | -1): void => {
    const to = from + by;
    const next = [...rules];
    next.splice(to, 0, ...next.splice(from, 1));
    onChange(next);
    said.value = `${rules[from]?.pattern} is now rule ${to + 1} of ${next.length}.`;
    // The focus goes with the rule; at either end only one of its two buttons can have it.
    focus(`rule-${to}-${to === 0 ? "down" : to === last ? "up" : by < 0 ? "up" : "down"}`);
  };
  const drop = (place: number): void => {
    onChange(rules.filter((_, at) => at !== place));
    said.value = `${rules[place]?.pattern} is no longer in the list.`;
    focus("add-rule");
  };
  const columns: readonly Column<number>[] = [
    {
      title: "Rule",
      cell: (at) => (
        <Pattern
          place={at}
          pattern={rules[at]?.pattern}
          shadow={shadows[at] ?? -1}
          refusal={at === refused ? refusal : ""}
        />
      ),
    },
    { title: "Stored", width: 24, cell: (at) => storedOf(rules[at]) },
    { title: "Grace", rem: 7.25, cell: (at) => (rules[at]?.graceSec ? span(rules[at].graceSec) : none) },
  ];
  const actions: Column<number> = {
    title: "Change",
    rem: 14.5,
    cell: (at) => {
      const { pattern = "" } = rules[at] ?? {};
      const button = (name: string, run: () => void, id?: string, isOff = false) => (
        <button
          type="button"
          class="small"
          id={id && `rule-${at}-${id}`}
          aria-label={`${name} ${pattern}${id ? ` ${id}` : ""}`}
          disabled={isOff}
          onClick={run}
        >
          {id ? (id === "up" ? "↑" : "↓") : name}
        </button>
      );
      return (
        <span class="row tight">
          {button("Move", () => move(at, -1), "up", at === 0)}
          {button("Move", () => move(at, 1), "down", at === last)}
          {button("Edit", () => onEdit(at))}
          {button("Delete", () => drop(at))}
        </span>
      );
    },
  };
  return (
    <>
      <Table
        label="Channel rules"
        isFixed
        isStacked
        columns={mayChange.value ? [...columns, actions] : columns}
        rows={[...rules.keys()]}
        keyOf={String}
        empty={
          <Empty title="This application has no channel rules.">
            Messages reach current subscribers, and are not stored. With a rule, channels such as <code>chat/**</code>{" "}
            keep their newest messages: clients that reconnect get what they missed, and newcomers can read back. A rule
            can also keep members in presence for a few seconds after they lose their connection.
          </Empty>
        }
      />
      <p role="status" class="hidden-text">
        {said.value}
      </p>
    </>
  );
}

function storedOf(rule: ChannelRule | undefined) {
  if (rule?.stream) return streamText(rule.stream);
  return rule?.history ? retentionText(rule.history) : none;
}

interface PatternProps {
  readonly place: number;
  readonly pattern: string | undefined;
  /** The place of the rule because of which it never applies, or -1. */
  readonly shadow: number;
  readonly refusal: string;
}

const Pattern = ({ place, pattern, shadow, refusal }: PatternProps) => (
  <>
    <span class="numbered">
      <span class="muted">{place + 1}</span>
      <code class="lines">{pattern}</code>
    </span>
    {shadow >= 0 && <p class="warn small">Never applies: rule {shadow + 1} matches all of its channels.</p>}
    {refusal && <p class="bad small">{refusal}</p>}
  </>
);
