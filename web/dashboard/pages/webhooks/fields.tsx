/** The fields of a webhook. */
import { WEBHOOK_DESCRIPTION_MAX_CHARS, WEBHOOK_MAX_CHARS } from "../../../../src/protocol/limits.ts";
import { linesOf } from "../../drafts/scope.ts";
import { channelsProblem, needsChannels, urlProblem, type WebhookDraft } from "../../drafts/webhook-draft.ts";
import { Text } from "../../ui/fields.tsx";
import { EventFields } from "./events.tsx";
import { HeaderFields } from "./headers.tsx";

interface WebhookFieldsProps {
  readonly draft: WebhookDraft;
  readonly onChange: (draft: WebhookDraft) => void;
}

export function WebhookFields({ draft, onChange }: WebhookFieldsProps) {
  const { url, description, events, patterns, headers } = draft;
  const set = (change: Partial<WebhookDraft>): void => onChange({ ...draft, ...change });
  return (
    <>
      <Text
        label="URL"
        value={url}
        onInput={(value) => set({ url: value })}
        error={urlProblem(url.trim())}
        maxLength={WEBHOOK_MAX_CHARS}
        placeholder="https://example.com/webhooks/parley"
        help="Your backend. It must be reachable from the Internet, unless PARLEY_WEBHOOK_ALLOW allows your network."
        isRequired
      />
      <Text
        label="Description"
        value={description}
        onInput={(value) => set({ description: value })}
        maxLength={WEBHOOK_DESCRIPTION_MAX_CHARS}
        placeholder="Orders"
        help="For you: what the webhook is for."
      />
      <EventFields events={events} onChange={(next) => set({ events: next })} />
      {needsChannels(events) && (
        <Text
          label="Channels to watch, one pattern per line"
          rows={3}
          value={patterns}
          onInput={(value) => set({ patterns: value })}
          // What is only missing is no mistake yet.
          error={linesOf(patterns).length > 0 ? channelsProblem(draft) : undefined}
          placeholder={"chat/*\norders/**"}
          help={
            <>
              Events about channels, peers and messages come only from these. <code>*</code> stands for anything without
              a slash, <code>**</code> for all channels.
            </>
          }
          isRequired
        />
      )}
      <HeaderFields headers={headers} onChange={(next) => set({ headers: next })} />
    </>
  );
}
