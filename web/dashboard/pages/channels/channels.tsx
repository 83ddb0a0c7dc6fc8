/** The channels of an application that have subscribers now. */
import { channelPage, keysPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import type { ActiveChannel, Key, List } from "../../api/types.ts";
import { retentionText } from "../../drafts/rule-draft.ts";
import { useDelayed, useKept, useList, useLive } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { bytes, rate, whole } from "../../text/format.ts";
import { Search, Segmented } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Snippet } from "../../ui/values.tsx";
import { snippet } from "../keys/snippets.ts";

const EVERY_MS = 3000;
const SORTS = [
  ["name", "By name"],
  ["busiest", "Busiest"],
] as const;

const nameOf = ({ channel }: ActiveChannel): string => channel;

const columnsOf = (app: string): readonly Column<ActiveChannel>[] => [
  { title: "Channel", cell: ({ channel }) => <Name href={channelPage(app, channel)}>{channel}</Name> },
  {
    title: "History",
    cell: ({ history }) => (history ? retentionText(history) : <span class="muted">none</span>),
    isMinor: true,
    width: 18,
  },
  { title: "Peers", cell: ({ peers }) => whole(peers), isNumber: true, width: 12 },
  { title: "Connections", cell: ({ connections }) => whole(connections), isNumber: true, isMinor: true, width: 12 },
  { title: "Messages/s", cell: ({ ratePerSec }) => rate(ratePerSec), isNumber: true, width: 14 },
  { title: "Bytes/s", cell: ({ bytesPerSec }) => bytes(bytesPerSec), isNumber: true, isMinor: true, width: 14 },
];

export function Channels({ at: { app = "" } }: { readonly at: PageParameters }) {
  const typed = parameters.value.get("prefix") ?? "";
  const sort = parameters.value.get("sort") === "busiest" ? "busiest" : "name";
  const prefix = useDelayed({ value: typed });
  const path = `/apps/${segment(app)}/channels${query({ prefix, sort: sort === "name" ? undefined : "rate" })}`;
  const list = useList<ActiveChannel>(path, { everyMs: EVERY_MS, keyOf: sort === "name" ? nameOf : undefined });
  const rows = useKept(list.data);
  return (
    <Page title="Channels" isReady={rows !== undefined} error={list.error} isComplete={list.isComplete}>
      <div class="toolbar">
        <Search
          label="Find channels by the beginning of their name"
          placeholder="Channels that begin with …"
          value={typed}
          onInput={(value) => setParameters({ prefix: value })}
        />
        <Segmented
          label="Order"
          value={sort}
          options={SORTS}
          onChange={(chosen) => setParameters({ sort: chosen === "name" ? "" : chosen })}
        />
      </div>
      <Card>
        <Table
          label="Channels with subscribers"
          columns={columnsOf(app)}
          rows={rows ?? []}
          keyOf={nameOf}
          isVirtual
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          onLook={list.look}
          empty={prefix ? <NoMatch prefix={prefix} /> : <NoChannels app={app} />}
        />
        <ListFoot list={list} what={sort === "busiest" ? "busiest channels" : "channels"} />
      </Card>
    </Page>
  );
}

const NoMatch = ({ prefix }: { readonly prefix: string }) => (
  <Empty title={`No channel with subscribers begins with “${prefix}”.`}>
    Upper and lower case are different. A channel exists while a client is subscribed to it.
  </Empty>
);

function NoChannels({ app }: { readonly app: string }) {
  const { data, error } = useLive<List<Key>>(`/signalling/keys${query({ app })}`);
  const origin = useOrigin();
  const key = data?.data.find(
    ({ type, revoked, actions }) => type === "publishable" && revoked === null && actions.includes("subscribe"),
  );
  if (!data && !error) return null;
  return (
    <>
      <Empty title="No channel has subscribers at the moment.">
        A channel appears here as soon as a client subscribes to it
        {key ? (
          ", for example with this program:"
        ) : (
          <>
            . For that it needs <a href={keysPage(app)}>a key</a>.
          </>
        )}
      </Empty>
      {key && <Snippet text={snippet(key, origin, "js")} what="the program" />}
    </>
  );
}
