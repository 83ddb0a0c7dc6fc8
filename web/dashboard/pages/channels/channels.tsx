/** The channels of an application that have subscribers now. */
import { useSignal } from "@preact/signals";
import { channelPage, keysPage, streamPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { ActiveChannel, Key, List } from "../../api/types.ts";
import { retentionText } from "../../drafts/rule-draft.ts";
import { useDelayed, useKept, useList, useLive } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { bytes, rate, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { DownloadCsv } from "../../ui/download.tsx";
import { Search, Text } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { MessageForm } from "../../ui/message-form.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Snippet } from "../../ui/values.tsx";
import { snippet } from "../keys/snippets.ts";

const EVERY_MS = 3000;
/** The service knows which are the busiest; by anything else, the page sorts what it has. */
const BUSIEST = "busiest";
const SORTED_BY_CALL = { "Messages/s": BUSIEST };

const nameOf = ({ channel }: ActiveChannel): string => channel;

const columnsOf = (app: string): readonly Column<ActiveChannel>[] => [
  {
    title: "Channel",
    value: nameOf,
    cell: ({ channel }) => <Name href={channelPage(app, channel)}>{channel}</Name>,
    below: ({ peers }) => (peers === 1 ? "1 peer" : `${whole(peers)} peers`),
  },
  {
    title: "History",
    value: ({ history, stream }) => (stream ? "stream" : history ? retentionText(history) : "none"),
    cell: ({ channel, history, stream }) => {
      if (stream) return <a href={streamPage(app, channel)}>stream</a>;
      return history ? retentionText(history) : <span class="muted">none</span>;
    },
    isMinor: true,
    width: 18,
  },
  {
    title: "Peers",
    value: ({ peers }) => peers,
    cell: ({ peers }) => whole(peers),
    isNumber: true,
    isMedium: true,
    rem: 6,
  },
  {
    title: "Connections",
    value: ({ connections }) => connections,
    cell: ({ connections }) => whole(connections),
    isNumber: true,
    isMedium: true,
    rem: 7.5,
  },
  {
    title: "Messages/s",
    value: ({ ratePerSec }) => ratePerSec,
    cell: ({ ratePerSec }) => rate(ratePerSec),
    isNumber: true,
    rem: 7.5,
  },
  {
    title: "Bytes/s",
    value: ({ bytesPerSec }) => bytesPerSec,
    cell: ({ bytesPerSec }) => bytes(bytesPerSec),
    isNumber: true,
    isMedium: true,
    rem: 6,
  },
];

export function Channels({ at: { app = "" } }: { readonly at: PageParameters }) {
  const typed = parameters.value.get("search") ?? "";
  const isBusiest = parameters.value.get("sort") === BUSIEST;
  const contains = useDelayed({ value: typed });
  const path = `/apps/${segment(app)}/channels${query({ contains, sort: isBusiest ? "rate" : undefined })}`;
  const list = useList<ActiveChannel>(path, { everyMs: EVERY_MS, keyOf: isBusiest ? undefined : nameOf });
  const rows = useKept(list.data);
  return (
    <Page title="Channels" isReady={rows !== undefined} error={list.error} isComplete={list.isComplete}>
      <div class="toolbar">
        <Search
          label="Find channels by part of their name"
          placeholder="Part of the name"
          value={typed}
          onInput={(value) => setParameters({ search: value })}
        />
        <span class="push">
          <DownloadCsv
            name={`channels-${app}`}
            columns={columnsOf(app)}
            rows={rows ?? []}
            all={list.hasMore ? list.all : undefined}
          />
        </span>
      </div>
      <Card>
        <Table
          label="Channels with subscribers"
          columns={columnsOf(app)}
          rows={rows ?? []}
          keyOf={nameOf}
          isVirtual
          sortIn="sort"
          sortedByCall={SORTED_BY_CALL}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          onLook={list.look}
          empty={contains ? <NoMatch contains={contains} /> : <NoChannels app={app} />}
        />
        <ListFoot list={list} what={isBusiest ? "busiest channels" : "channels"} />
      </Card>
      {parameters.value.has("publish") && mayChange.value && <PublishTest app={app} />}
    </Page>
  );
}

/** From the command palette: a channel has the same form on its page. */
function PublishTest({ app }: { readonly app: string }) {
  const channel = useSignal(parameters.value.get("publish") ?? "");
  const close = (): void => setParameters({ publish: "" }, { isPassing: true });
  const name = channel.value.trim();
  return (
    <Dialog title="Publish a test message" onClose={close}>
      <MessageForm
        path={`/apps/${segment(app)}/channels/${segment(name)}/publish`}
        submit="Publish"
        done={`Published to ${inText(name)}.`}
        isDisabled={name === ""}
        onDone={close}
        onCancel={close}
      >
        <Text
          label="Channel"
          value={channel.value}
          onInput={(value) => (channel.value = value)}
          placeholder="chat/42"
          isRequired
          autoFocus
        />
      </MessageForm>
    </Dialog>
  );
}

const NoMatch = ({ contains }: { readonly contains: string }) => (
  <Empty title={`No channel with subscribers has “${inText(contains)}” in its name.`}>
    A channel exists while a client is subscribed to it.
  </Empty>
);

function NoChannels({ app }: { readonly app: string }) {
  const { data, error } = useLive<List<Key>>(`/signalling/keys${query({ app, revoked: "false" })}`);
  const origin = useOrigin();
  const key = data?.data.find(
    ({ type, revoked, actions }) => type === "publishable" && revoked === null && actions.includes("subscribe"),
  );
  if (!data && !error) return null;
  return (
    <>
      <Empty title="No channels have subscribers right now.">
        A channel appears here as soon as a client subscribes to it
        {key ? (
          ", for example with this program:"
        ) : (
          <>
            . To subscribe, clients need <a href={keysPage(app)}>a key</a>.
          </>
        )}
      </Empty>
      {key && <Snippet text={snippet(key, origin, "client")} what="the program" />}
    </>
  );
}
