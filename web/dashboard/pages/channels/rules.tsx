/** Channel rules: which channels keep history or are streams, and how long lost members stay. The list is saved as a whole. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { parameters, setParameters } from "../../address/router.ts";
import { get, patch } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { ActiveChannel, App, List } from "../../api/types.ts";
import type { Usage } from "../../api/usage-types.ts";
import { effectOn, mayLose, placeOf } from "../../drafts/rule-changes.ts";
import { CHANNEL_RULES_MAX, type ChannelRule, counted, draftOf, ruleOf } from "../../drafts/rule-draft.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, useLive } from "../../live/live.ts";
import { confirm, Form } from "../../ui/dialog.tsx";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { NotFound } from "../not-found.tsx";
import { HistoryLimit, StreamLimit } from "./history-limit.tsx";
import { ChannelRuleDialog } from "./rule-dialog.tsx";
import { ChannelRuleList } from "./rule-list.tsx";
import { ChannelRuleTester } from "./rule-tester.tsx";

export function ChannelRules() {
  const app = currentApp.value;
  return app ? <RulesOf key={app._id} path={`/apps/${app._id}`} /> : <NotFound />;
}

type Rules = readonly ChannelRule[];
const NO_RULES: Rules = [];
/** With the fields of each rule in one order. */
const textOf = (rules: Rules): string => JSON.stringify(rules.map((rule) => ruleOf(draftOf(rule))));
const isSame = (a: Rules, b: Rules): boolean => textOf(a) === textOf(b);

function RulesOf({ path }: { readonly path: string }) {
  const { data: app, error, reload } = useLive<App>(path, { everyMs: CHANGES_EVERY_MS });
  const usage = useLive<Usage>(`${path}/usage?periods=1`, { everyMs: CHANGES_EVERY_MS });
  /** undefined: as they are saved. */
  const draft = useSignal<Rules | undefined>(undefined);
  /** The place of the rule that is edited. */
  const edited = useSignal<number | undefined>(undefined);
  /** As they were saved when the draft or a dialog was begun: what others save from then on must not move rules under it. */
  const base = useRef<Rules | undefined>(undefined);
  const isEditing = draft.value !== undefined || edited.value !== undefined || parameters.value.has("add");
  if (!isEditing || base.current === undefined) base.current = app?.channelRules;
  const saved = base.current ?? NO_RULES;
  const refusal = useSignal("");
  const rules = draft.value ?? saved;
  const isChanged = !isSame(rules, saved);
  const change = (next: Rules): void => {
    draft.value = next;
    refusal.value = "";
  };
  const save = async (): Promise<void> => {
    refusal.value = "";
    try {
      // The whole list is replaced: what another operator has saved meanwhile would be lost.
      const now = await get<App>(path);
      if (!isSame(now.channelRules, saved))
        throw new Error("These rules were changed elsewhere after you opened this page. Cancel to see the new ones.");
      await patch<App>(path, { channelRules: rules });
    } catch (caught) {
      refusal.value = messageOf(caught);
      throw caught;
    }
    await reload();
    draft.value = undefined;
    toast("Rules saved.");
  };
  const cancel = (): void => {
    draft.value = undefined;
    refusal.value = "";
    void reload();
  };
  const channelsPath = `${path}/channels?limit=1000`;
  const { data: channels } = useLive<List<ActiveChannel>>(isChanged ? channelsPath : undefined);
  const effect = channels && effectText(channels, saved, rules);
  const ask = async (): Promise<void> => {
    if (!mayLose(saved, rules)) return save();
    // Who saves at once does so before the page has the channels.
    const inUse = channels ?? (await get<List<ActiveChannel>>(channelsPath));
    confirm({
      title: "Save rules that may delete messages",
      text: (
        <div class="stack">
          <p>{effectText(inUse, saved, rules)}</p>
          <p>
            The same happens to channels that are not in use now. History that ends and streams that lose their rule are
            deleted, and this cannot be undone. Subscribers of these channels reconnect.
          </p>
        </div>
      ),
      submit: "Save the rules",
      isDanger: true,
      run: save,
    });
  };
  const canAdd = rules.length < CHANNEL_RULES_MAX;
  const close = (): void => {
    edited.value = undefined;
    setParameters({ add: "" }, { isPassing: true });
  };
  // A new rule comes last.
  const at = edited.value ?? (canAdd && mayChange.value && parameters.value.has("add") ? rules.length : undefined);
  return (
    <Page
      title="Channel rules"
      intro="Rules decide which channels store messages, and how long members stay after they lose their connection. The first rule whose pattern matches a channel applies; a channel without a rule stores nothing."
      isReady={app !== undefined && usage.data !== undefined}
      error={error ?? usage.error}
      actions={
        mayChange.value && (
          <button
            type="button"
            id="add-rule"
            class="primary"
            disabled={!canAdd}
            title={canAdd ? undefined : `An application has at most ${CHANNEL_RULES_MAX} rules.`}
            onClick={() => setParameters({ add: "1" }, { isPassing: true })}
          >
            Add rule
          </button>
        )
      }
    >
      <Card>
        <ChannelRuleList
          rules={rules}
          refused={placeOf(refusal.value)}
          refusal={refusal.value}
          onChange={change}
          onEdit={(place) => (edited.value = place)}
        />
        {isChanged && (
          <div class="savable spaced">
            <Form submit="Save rules" onSubmit={ask} onCancel={cancel}>
              <p role="status">Not saved yet. {effect}</p>
            </Form>
          </div>
        )}
      </Card>
      <div class="columns">
        <ChannelRuleTester path={path} rules={rules} isChanged={isChanged} />
        {app && (
          <div class="stack">
            <HistoryLimit app={app} stored={usage.data?.history} reload={reload} />
            {(rules.some(({ stream }) => stream) || !!usage.data?.streams?.count) && (
              <StreamLimit app={app} stored={usage.data?.streams} reload={reload} />
            )}
          </div>
        )}
      </div>
      {at !== undefined && (
        <ChannelRuleDialog
          rule={rules[at]}
          others={rules.filter((_, one) => one !== at)}
          onClose={close}
          onDone={(rule) => {
            change([...rules.slice(0, at), rule, ...rules.slice(at + 1)]);
            close();
          }}
        />
      )}
    </Page>
  );
}

/** In numbers, as far as they are known: only channels with subscribers are listed. */
function effectText({ data, next }: List<ActiveChannel>, before: Rules, after: Rules): string {
  const effect = effectOn(
    data.map(({ channel }) => channel),
    before,
    after,
  );
  const parts = [
    effect.lost && `${effect.lost} would lose their history`,
    effect.ended && `${effect.ended} would lose their stream`,
    effect.less && `${effect.less} would keep less`,
    effect.begun && `${effect.begun} would start to keep history`,
  ].filter(Boolean);
  const of = `${next === null ? "" : "first "}${counted(data.length, "channels")} in use now`;
  return `Of the ${of}, ${parts.join(", ") || "none would keep more or less than before"}.`;
}
