/** The streams of an application. */
import { rulesPage, streamPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import type { ListedStream } from "../../api/stream-types.ts";
import { counted } from "../../drafts/rule-draft.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, useDelayed, useKept, useList } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { bytes, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { TERMS } from "../../text/terms.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Search } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { StreamState } from "./state.tsx";

/** The most that a call answers at once. */
const PAGE_MAX = 200;

const nameOf = ({ channel }: ListedStream): string => channel;

const columnsOf = (app: string): readonly Column<ListedStream>[] => [
  {
    title: "Stream",
    value: nameOf,
    cell: ({ channel }) => <Name href={streamPage(app, channel)}>{channel}</Name>,
    below: ({ closed, messages, bytes: size }) =>
      `${closed ? "closed, " : ""}${counted(messages, "messages")}, ${bytes(size)}`,
  },
  {
    title: "State",
    value: ({ closed }) => (closed ? "closed" : "open"),
    cell: ({ closed }) => <StreamState isClosed={closed} />,
    isMedium: true,
    rem: 6,
  },
  {
    title: "Content type",
    value: ({ contentType }) => contentType,
    cell: ({ contentType }) => <Name>{contentType}</Name>,
    isMinor: true,
    width: 18,
  },
  {
    title: "Messages",
    value: ({ messages }) => messages,
    cell: ({ messages }) => whole(messages),
    isNumber: true,
    isMedium: true,
    rem: 6.5,
  },
  {
    title: "Size",
    value: (one) => one.bytes,
    cell: (one) => bytes(one.bytes),
    isNumber: true,
    isMedium: true,
    rem: 6,
  },
  {
    title: "Created",
    value: ({ created }) => created,
    isTime: true,
    cell: ({ created }) => <Time at={created} />,
    isMedium: true,
    rem: 7.5,
  },
  {
    title: "Expires",
    meaning: TERMS.streamExpires,
    value: ({ endsAt }) => endsAt,
    isTime: true,
    cell: ({ endsAt }) => <Time at={endsAt} />,
    rem: 7,
  },
];

export function Streams({ at: { app = "" } }: { readonly at: PageParameters }) {
  const typed = parameters.value.get("search") ?? "";
  const contains = useDelayed({ value: typed });
  const list = useList<ListedStream>(`/apps/${segment(app)}/streams${query({ contains })}`, {
    everyMs: CHANGES_EVERY_MS,
    limitMax: PAGE_MAX,
    keyOf: nameOf,
  });
  const rows = useKept(list.data);
  return (
    <Page title="Streams" intro={TERMS.stream} isReady={rows !== undefined} error={list.error}>
      <div class="toolbar">
        <Search
          label="Find streams by part of their name"
          placeholder="Part of the name"
          value={typed}
          onInput={(value) => setParameters({ search: value })}
        />
        <span class="push">
          <DownloadCsv
            name={`streams-${app}`}
            columns={[...columnsOf(app), { title: "Producers", value: ({ producers }) => producers }]}
            rows={rows ?? []}
            all={list.hasMore ? list.all : undefined}
          />
        </span>
      </div>
      <Card>
        <Table
          label="Streams"
          columns={columnsOf(app)}
          rows={rows ?? []}
          keyOf={nameOf}
          isVirtual
          sortIn="sort"
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          onLook={list.look}
          empty={contains ? <NoMatch contains={contains} /> : <NoStreams app={app} />}
        />
        <ListFoot list={list} what="streams" />
      </Card>
    </Page>
  );
}

const NoMatch = ({ contains }: { readonly contains: string }) => (
  <Empty title={`No stream has “${inText(contains)}” in its name.`} />
);

function NoStreams({ app }: { readonly app: string }) {
  const origin = useOrigin();
  const patterns = currentApp.value?.channelRules.filter(({ stream }) => stream).map(({ pattern }) => pattern) ?? [];
  const [first] = patterns;
  return (
    <Empty title="This application has no streams.">
      {first === undefined ? (
        <>
          A channel is a stream if its <a href={rulesPage(app)}>channel rule</a> says so.{" "}
        </>
      ) : (
        <>
          A backend creates one with <code>PUT /v1/stream/…</code>, under a name that matches <code>{first}</code>.{" "}
        </>
      )}
      <a href={`${origin}/docs/streams`}>How streams work</a>
    </Empty>
  );
}
