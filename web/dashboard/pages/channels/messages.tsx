/** The messages of a channel as they come. */
import { useSignal } from "@preact/signals";
import { consolePage } from "../../address/links.ts";
import { patternOf } from "../../drafts/scope.ts";
import { apps } from "../../live/apps.ts";
import type { KeptEvent } from "../../tail/tail.ts";
import { useTail } from "../../tail/use-tail.ts";
import { EventList } from "../../ui/event-list.tsx";
import { Empty, Notice } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { TailButtons, TailStatus } from "../../ui/tail-state.tsx";
import { EventDetails, NoPayloads } from "../console/event-details.tsx";

const KINDS = ["publish"];

/** `app` is an id. */
export function ChannelMessages({ app, channel }: { readonly app: string; readonly channel: string }) {
  const pattern = patternOf(channel);
  const tail = useTail({ app, channel: pattern, kinds: KINDS });
  const selected = useSignal<KeptEvent | undefined>(undefined);
  const name = apps.value?.find(({ _id }) => _id === app)?.name ?? app;
  return (
    <Card title="Messages" aside={<TailStatus tail={tail} />} class="messages">
      <div role="alert">{tail.state.value === "refused" && <Notice kind="bad">{tail.refusal.value}</Notice>}</div>
      <EventList
        label="Messages, newest last"
        events={tail.events.value}
        tail={tail}
        selected={selected.value}
        onSelect={(chosen) => (selected.value = chosen)}
        hasChannel={false}
        empty={<Empty title="No messages yet.">Messages appear here as they are published.</Empty>}
      />
      <div class="toolbar">
        <TailButtons tail={tail} />
        <span class="muted small">
          <NoPayloads app={app} /> <a href={consolePage(name, { channel: pattern })}>All events in the console</a>
        </span>
      </div>
      {selected.value && (
        <div class="below">
          <EventDetails event={selected.value.event} onClose={() => (selected.value = undefined)} />
        </div>
      )}
    </Card>
  );
}
