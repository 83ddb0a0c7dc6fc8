/** What a channel has kept, by page, newest first. */
import { useSignal } from "@preact/signals";
import { channelPage, peerPage } from "../../address/links.ts";
import { parameters, setParameters } from "../../address/router.ts";
import { get, query, remove } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { HistoryMessage, HistoryPage } from "../../api/types.ts";
import { type Retention, retentionText } from "../../drafts/rule-draft.ts";
import { currentApp } from "../../live/apps.ts";
import { useKept, useLive, type WholeList } from "../../live/live.ts";
import { bytes } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { confirm, nameToType } from "../../ui/dialog.tsx";
import { DownloadCsv } from "../../ui/download.tsx";
import { JsonCell, JsonDialog, type ShownJson } from "../../ui/json.tsx";
import { Empty, Notice, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { NoPayloads } from "../console/event-details.tsx";

const LIMIT = 50;
const EVERY_MS = 3000;

interface ChannelHistoryProps {
  readonly app: string;
  readonly channel: string;
  /** The channel's path in calls of the control plane. */
  readonly path: string;
  readonly keeps: Retention;
  /** Connections that subscribe: they close, and reconnect. */
  readonly connections: number | undefined;
}

export function ChannelHistory({ app, channel, path, keeps, connections }: ChannelHistoryProps) {
  const before = parameters.value.get("before") ?? "";
  const call = `${path}/history`;
  // Only the newest page changes.
  const live = useLive<HistoryPage>(
    `${call}${query({ limit: LIMIT, before })}`,
    before === "" ? { everyMs: EVERY_MS } : {},
  );
  const page = useKept(live.data);
  const opened = useSignal<ShownJson | undefined>(undefined);
  const rows = page?.messages ?? [];
  const at = (position?: string): string =>
    `${channelPage(app, channel)}${query({ view: "history", before: position })}`;
  // Where payloads are not shown, only their sizes are.
  const hasData = rows.some(({ data }) => data !== undefined);
  const json: Column<HistoryMessage> = {
    title: "Data",
    width: 40,
    value: ({ data }) => JSON.stringify(data),
    cell: ({ data, from }) => (
      <JsonCell value={data} onOpen={() => (opened.value = { title: `Message from ${from}`, value: data })} />
    ),
  };
  const columns: readonly Column<HistoryMessage>[] = [
    {
      title: "Time",
      rem: 7.25,
      value: ({ time }) => time / 1000,
      isTime: true,
      cell: ({ time }) => <Time at={time / 1000} />,
    },
    { title: "From", value: ({ from }) => from, cell: ({ from }) => <Name href={peerPage(app, from)}>{from}</Name> },
    ...(hasData ? [json] : []),
    {
      title: "Size",
      rem: 6,
      isNumber: true,
      isMedium: hasData,
      value: (one) => one.bytes,
      cell: (one) => bytes(one.bytes),
    },
    {
      title: "Id",
      width: 18,
      isMinor: true,
      value: ({ id }) => id,
      cell: ({ id }) => (id === undefined ? "" : <Name>{id}</Name>),
    },
  ];
  /** From the newest on. */
  const all = async (max: number): Promise<WholeList<HistoryMessage>> => {
    const found: HistoryMessage[] = [];
    let isMore = true;
    while (isMore && found.length < max) {
      const { messages, more } = await get<HistoryPage>(`${call}${query({ limit: LIMIT, before: found.at(-1)?.pos })}`);
      found.push(...messages);
      isMore = more;
    }
    return { rows: found.slice(0, max), isCut: isMore || found.length > max };
  };
  const ask = (): void =>
    confirm({
      title: `Delete the history of ${inText(channel)}`,
      text: (
        <p>
          This deletes all messages stored for this channel, and cannot be undone. Its subscribers reconnect. New
          messages are stored as before.
        </p>
      ),
      submit: "Delete the history",
      isDanger: true,
      typed: nameToType(channel, connections),
      run: async () => {
        await remove(call);
        if (before === "") await live.reload();
        else setParameters({ before: "" }, { isPassing: true });
        toast(`The history of ${inText(channel)} is deleted.`);
      },
    });
  // The last part of the page: it comes whole, so that nothing in it moves.
  if (!page && !live.error) return null;
  return (
    <Card
      title="History"
      aside={
        <span class="row">
          {retentionText(keeps)}
          <DownloadCsv name="history" columns={columns} rows={rows} all={all} />
        </span>
      }
    >
      {live.error && <Notice kind="bad">{live.error.message}</Notice>}
      {page && (
        <Table
          label="History"
          columns={columns}
          rows={rows}
          keyOf={({ pos }) => pos}
          isVirtual
          empty={
            <Empty title={before === "" ? "This channel has kept no message yet." : "There is nothing older."}>
              {before === "" && "Messages are kept from the moment on at which a rule says so."}
            </Empty>
          }
        />
      )}
      <div class="toolbar below">
        {before !== "" && (
          <a class="button" href={at()}>
            Newest
          </a>
        )}
        {page?.more && (
          <a class="button" href={at(rows.at(-1)?.pos)}>
            Older
          </a>
        )}
        <span class="muted small">{currentApp.value && <NoPayloads app={currentApp.value._id} />}</span>
        {mayChange.value && (rows.length > 0 || before !== "") && (
          <button type="button" class="danger push" onClick={ask}>
            Delete history …
          </button>
        )}
      </div>
      <JsonDialog shown={opened.value} onClose={() => (opened.value = undefined)} />
    </Card>
  );
}
