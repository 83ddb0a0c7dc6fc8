/** One channel: who is in it, what is said in it, what it has kept, and a message by hand. */
import { rulesPage, streamPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { ChannelDetail, ChannelMember } from "../../api/types.ts";
import { retentionText } from "../../drafts/rule-draft.ts";
import { currentApp } from "../../live/apps.ts";
import { useList, useLive } from "../../live/live.ts";
import { bytes, rate, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { Segmented } from "../../ui/fields.tsx";
import { MessageForm } from "../../ui/message-form.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Copy } from "../../ui/values.tsx";
import { ChannelHistory } from "./history.tsx";
import { ChannelMembers } from "./members.tsx";
import { ChannelMessages } from "./messages.tsx";

const EVERY_MS = 3000;
/** The most members that a call answers at once: each may have much metadata. */
const MEMBERS_MAX = 200;
const VIEWS = [
  ["members", "Members"],
  ["history", "History"],
] as const;

export function Channel({ at: { app = "", channel = "" } }: { readonly at: PageParameters }) {
  const path = `/apps/${segment(app)}/channels/${segment(channel)}`;
  const live = useLive<ChannelDetail>(`${path}?limit=1`, { everyMs: EVERY_MS });
  const list = useList<ChannelMember, ChannelDetail>(path, {
    everyMs: EVERY_MS,
    rowsOf: ({ members }) => members,
    limitMax: MEMBERS_MAX,
    keyOf: ({ peerId }) => peerId,
  });
  const { peers = 0, connections = 0, ratePerSec = 0, bytesPerSec = 0, history, stream } = live.data ?? {};
  const view = history && parameters.value.get("view") === "history" ? "history" : "members";
  const appId = currentApp.value?._id;
  return (
    <Page
      title={channel}
      actions={<Copy text={channel} what="the channel's name" label="Copy name" />}
      intro={
        <>
          <Kept app={app} channel={channel} history={history} stream={stream} /> (
          <a href={rulesPage(app, channel)}>channel rules</a>).
        </>
      }
      isReady={live.data !== undefined && list.data !== undefined}
      error={live.error ?? list.error}
      isComplete={list.isComplete}
    >
      <div class="grid stats">
        <Stat title="Peers" value={whole(peers)} />
        <Stat title="Connections" value={whole(connections)} />
        <Stat title="Messages" value={rate(ratePerSec)} unit="/s" />
        <Stat title="Bytes" value={bytes(bytesPerSec)} unit="/s" />
      </div>
      <div class={mayChange.value ? "columns" : "stack"}>
        {appId && <ChannelMessages app={appId} channel={channel} />}
        {mayChange.value && (
          <Card title="Publish a test message">
            <MessageForm path={`${path}/publish`} submit="Publish" done={`Published to ${inText(channel)}.`} />
          </Card>
        )}
      </div>
      {history && (
        <div class="toolbar">
          <Segmented
            label="Show"
            value={view}
            options={VIEWS}
            onChange={(chosen) => setParameters({ view: chosen === "members" ? "" : chosen, before: "" })}
          />
        </div>
      )}
      {history && view === "history" ? (
        <ChannelHistory
          app={app}
          channel={channel}
          path={path}
          keeps={history}
          connections={list.isComplete ? connections : undefined}
        />
      ) : (
        <ChannelMembers app={app} list={list} total={peers} />
      )}
    </Page>
  );
}

interface KeptProps {
  readonly app: string;
  readonly channel: string;
  readonly history: ChannelDetail["history"] | undefined;
  readonly stream: ChannelDetail["stream"] | undefined;
}

const Kept = ({ app, channel, history, stream }: KeptProps) => {
  if (stream)
    return (
      <>
        It is <a href={streamPage(app, channel)}>a stream</a>
      </>
    );
  return <>{history ? `It keeps ${retentionText(history)}` : "It keeps no history"}</>;
};

interface StatProps {
  readonly title: string;
  readonly value: string;
  readonly unit?: string;
}

const Stat = ({ title, value, unit }: StatProps) => (
  <div class="card stat">
    <div class="muted small">{title}</div>
    <div class="value">
      {value}
      {unit && <span class="unit">{unit}</span>}
    </div>
  </div>
);
