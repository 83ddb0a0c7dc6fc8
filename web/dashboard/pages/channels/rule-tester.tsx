/** Which rule and which keys cover a channel? */
import { channelPage, keyPage } from "../../address/links.ts";
import { parameters, setParameters } from "../../address/router.ts";
import { query } from "../../api/client.ts";
import type { ChannelMatch, MatchedRule } from "../../api/types.ts";
import { appliedTo } from "../../drafts/rule-changes.ts";
import { type ChannelRule, counted, retentionText, span, streamText } from "../../drafts/rule-draft.ts";
import { channelProblem } from "../../drafts/scope.ts";
import { appName } from "../../live/apps.ts";
import { useDelayed, useKept, useLive } from "../../live/live.ts";
import { Search } from "../../ui/fields.tsx";
import { messageOf, Notice } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge } from "../../ui/values.tsx";

interface ChannelRuleTesterProps {
  readonly path: string;
  /** As they are on the page. */
  readonly rules: readonly ChannelRule[];
  readonly isChanged: boolean;
}

export function ChannelRuleTester({ path, rules, isChanged }: ChannelRuleTesterProps) {
  const channel = parameters.value.get("channel") ?? "";
  const asked = useDelayed({ value: channel });
  const problem = channel === "" ? undefined : channelProblem(channel);
  const { data, error } = useLive<ChannelMatch>(
    asked === "" || channelProblem(asked) ? undefined : `${path}/channel-rules/match${query({ channel: asked })}`,
  );
  const match = useKept(data);
  const index = appliedTo(rules, channel);
  const unsaved = rules[index];
  const app = appName.value ?? "";
  return (
    <Card title="Which rule and which keys cover a channel?">
      <Search
        label="Channel"
        placeholder="chat/42"
        value={channel}
        onInput={(value) => setParameters({ channel: value })}
      />
      <div role="status" class="stack spaced match">
        {problem ?? (channel === "" && <span class="muted">Enter a channel name to find out.</span>)}
        {error && <Notice kind="bad">{messageOf(error)}</Notice>}
        {channel !== "" && !problem && match && (
          <>
            {isChanged && (
              <p>
                <strong>With your changes:</strong> {textOf(unsaved && { ...unsaved, index })}
              </p>
            )}
            <p>
              {isChanged && <strong>Now: </strong>}
              {textOf(match.rule)}
            </p>
            <div>
              <p>
                {counted(match.keys.length, "keys")} of this application {match.keys.length === 1 ? "covers" : "cover"}{" "}
                it.
              </p>
              <ul class="bare">
                {match.keys.map(({ keyId, label, type, actions }) => (
                  <li key={keyId}>
                    <a href={keyPage(app, keyId)}>{label ?? keyId}</a> <Badge>{type}</Badge>{" "}
                    <span class="muted">{actions.join(", ") || "no action"}</span>
                  </li>
                ))}
              </ul>
            </div>
            <p>
              <a href={channelPage(app, channel)}>Open the channel</a>
            </p>
          </>
        )}
      </div>
    </Card>
  );
}

function textOf(rule: MatchedRule | null | undefined): string {
  if (!rule) return "No rule applies: nothing is stored.";
  const { index, pattern, history, stream, graceSec } = rule;
  const kept = stream ? `has ${streamText(stream)}` : history ? `keeps ${retentionText(history)}` : "keeps no history";
  return `Rule ${index + 1}, ${pattern}: ${kept}${graceSec > 0 ? `, grace ${span(graceSec)}` : ""}.`;
}
