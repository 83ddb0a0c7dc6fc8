/** Messages that are stored, by page, newest first: of a channel with history, or of a stream. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { peerPage } from "../../address/links.ts";
import { parameters } from "../../address/router.ts";
import { get, query } from "../../api/client.ts";
import type { HistoryMessage, HistoryPage } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { useKept, useLive, type WholeList } from "../../live/live.ts";
import { bytes } from "../../text/format.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { JsonCell, JsonDialog, type ShownJson } from "../../ui/json.tsx";
import { Empty, Notice } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";
import { NoPayloads } from "../console/event-details.tsx";

const LIMIT = 50;
const EVERY_MS = 3000;

interface StoredMessagesProps {
  readonly app: string;
  readonly title: string;
  /** The channel's path in calls of the control plane. */
  readonly path: string;
  /** The address of this page with the messages before a position; without one: with the newest. */
  readonly addressOf: (before?: string) => string;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  /** If nothing is stored. */
  readonly none: { readonly title: string; readonly text: string };
  /** Data is text, and no JSON. */
  readonly isText?: boolean;
  /** Below the list; `isAny`: there is something that it can act on, `reload` shows what it has done. */
  readonly action?: (isAny: boolean, reload: () => Promise<void>) => ComponentChildren;
}

export function StoredMessages({
  app,
  title,
  path,
  addressOf,
  aside,
  none,
  isText = false,
  action,
}: StoredMessagesProps) {
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
  // Where payloads are not shown, only their sizes are.
  const hasData = rows.some(({ data }) => data !== undefined);
  const columns = columnsOf({ app, isText, hasData, open: (shown) => (opened.value = shown) });
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
  // The last part of the page: it comes whole, so that nothing in it moves.
  if (!page && !live.error) return null;
  return (
    <Card
      title={title}
      aside={
        <span class="row">
          {aside}
          <DownloadCsv name={title.toLowerCase()} columns={columns} rows={rows} all={all} />
        </span>
      }
    >
      {live.error && <Notice kind="bad">{live.error.message}</Notice>}
      {page && (
        <Table
          label={title}
          columns={columns}
          rows={rows}
          keyOf={({ pos }) => pos}
          isVirtual
          empty={
            <Empty title={before === "" ? none.title : "There is nothing older."}>{before === "" && none.text}</Empty>
          }
        />
      )}
      <div class="toolbar below">
        {before !== "" && (
          <a class="button" href={addressOf()}>
            Newest
          </a>
        )}
        {page?.more && (
          <a class="button" href={addressOf(rows.at(-1)?.pos)}>
            Older
          </a>
        )}
        <span class="muted small">{currentApp.value && <NoPayloads app={currentApp.value._id} />}</span>
        {action?.(rows.length > 0 || before !== "", live.reload)}
      </div>
      <JsonDialog shown={opened.value} onClose={() => (opened.value = undefined)} />
    </Card>
  );
}

interface ColumnsProps {
  readonly app: string;
  readonly isText: boolean;
  readonly hasData: boolean;
  readonly open: (shown: ShownJson) => void;
}

function columnsOf({ app, isText, hasData, open }: ColumnsProps): readonly Column<HistoryMessage>[] {
  const data: Column<HistoryMessage> = {
    title: "Data",
    width: 40,
    value: (one) => (isPlain(one, isText) ? String(one.data) : JSON.stringify(one.data)),
    cell: (one) => <Data of={one} isPlain={isPlain(one, isText)} open={open} />,
  };
  return [
    {
      title: "Time",
      rem: 7.25,
      value: ({ time }) => time / 1000,
      isTime: true,
      cell: ({ time }) => <Time at={time / 1000} />,
    },
    { title: "From", value: ({ from }) => from, cell: ({ from }) => <Name href={peerPage(app, from)}>{from}</Name> },
    ...(hasData ? [data] : []),
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
}

const isPlain = ({ data, encoding }: HistoryMessage, isText: boolean): boolean =>
  typeof data === "string" && (isText || encoding !== undefined);

interface DataProps {
  readonly of: HistoryMessage;
  readonly isPlain: boolean;
  readonly open: (shown: ShownJson) => void;
}

const Data = ({ of: { data, encoding, from }, isPlain, open }: DataProps) => {
  const cell = (
    <JsonCell
      value={data}
      isText={isPlain}
      onOpen={() => open({ title: `Message from ${from}`, value: data, isText: isPlain })}
    />
  );
  if (encoding === undefined) return cell;
  return (
    <span class="row tight">
      <Badge>{encoding}</Badge>
      {cell}
    </span>
  );
};
