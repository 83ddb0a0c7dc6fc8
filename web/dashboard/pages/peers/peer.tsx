/** One peer: its connections, its last events, and what an operator can do about it. */
import { channelPage, consolePage, keyPage, peersPage } from "../../address/links.ts";
import type { PageParameters } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { PeerConnection, PeerDetail } from "../../api/types.ts";
import { useLive } from "../../live/live.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { rate, whole } from "../../text/format.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { PeerActions } from "./actions.tsx";
import { PeerTimeline } from "./timeline.tsx";

const EVERY_MS = 3000;

const columnsOf = (app: string): readonly Column<PeerConnection>[] => [
  { title: "Key", value: ({ keyId }) => keyId, cell: ({ keyId }) => <Name href={keyPage(app, keyId)}>{keyId}</Name> },
  { title: "Node", value: ({ nodeId }) => nodeId, cell: ({ nodeId }) => <Name>{nodeId}</Name>, isMinor: true, rem: 7 },
  {
    title: "Address",
    value: ({ address }) => address,
    cell: ({ address }) => <Name>{address}</Name>,
    isMedium: true,
    width: 18,
  },
  { title: "Connected", value: ({ since }) => since, isTime: true, cell: ({ since }) => <Time at={since} />, rem: 7.5 },
  {
    title: "Subscriptions",
    width: 26,
    value: ({ subscriptions }) => subscriptions.join(" "),
    cell: ({ subscriptions }) => <Subscriptions app={app} channels={subscriptions} />,
  },
  {
    title: "Frames/s",
    value: ({ framesPerSec }) => framesPerSec,
    cell: ({ framesPerSec }) => rate(framesPerSec),
    isNumber: true,
    rem: 6.5,
  },
];

const IN_FILE: readonly CsvColumn<PeerConnection>[] = [
  { title: "Connection", value: ({ connectionId }) => connectionId },
  ...columnsOf(""),
];

const publishableOf = (known: readonly { readonly keyId?: string }[]): string | undefined =>
  known.find(({ keyId }) => keyId?.startsWith("pk_"))?.keyId;

export function Peer({ at: { app = "", peer = "" } }: { readonly at: PageParameters }) {
  const live = useLive<PeerDetail>(`/apps/${segment(app)}/peers/${segment(peer)}`, { everyMs: EVERY_MS });
  const isUnknown = live.error?.code === "peer_not_found";
  const { connections = [], recent = [], total = 0, isComplete = true } = live.data ?? {};
  const present = isUnknown ? 0 : total;
  const reload = live.reload;
  return (
    <Page
      title={peer}
      actions={
        mayChange.value && (
          <PeerActions
            app={app}
            peer={peer}
            connections={present}
            publishable={publishableOf([...connections, ...recent])}
            onDone={() => void reload()}
          />
        )
      }
      isReady={live.data !== undefined || isUnknown}
      error={isUnknown ? undefined : live.error}
      isComplete={isComplete}
    >
      {isUnknown && recent.length === 0 ? (
        <Unknown app={app} peer={peer} />
      ) : (
        <>
          <Card
            title="Connections"
            aside={
              <span class="row">
                {present > connections.length ? `the newest ${connections.length} of ${whole(total)}` : whole(present)}
                <DownloadCsv name={`connections-${peer}`} columns={IN_FILE} rows={present === 0 ? [] : connections} />
              </span>
            }
          >
            <p role="status">
              {present === 0 &&
                "This peer is not connected now. Its last events stay here for a minute after its connection ended."}
            </p>
            <Table
              label="Connections"
              columns={columnsOf(app)}
              rows={present === 0 ? [] : connections}
              keyOf={({ connectionId }) => connectionId}
              empty={null}
              isStacked
              isFixed
              sortIn="sort"
            />
          </Card>
          <Card title="Last events" aside={<a href={consolePage(app, { peer })}>Watch it in the console</a>}>
            <PeerTimeline recent={recent} />
          </Card>
        </>
      )}
    </Page>
  );
}

const Subscriptions = ({ app, channels }: { readonly app: string; readonly channels: readonly string[] }) =>
  channels.length === 0 ? (
    <span class="muted">none</span>
  ) : (
    <details>
      <summary>{channels.length === 1 ? "1 channel" : `${whole(channels.length)} channels`}</summary>
      <ul class="plain">
        {channels.map((channel) => (
          <li key={channel}>
            <Name href={channelPage(app, channel)}>{channel}</Name>
          </li>
        ))}
      </ul>
    </details>
  );

const Unknown = ({ app, peer }: { readonly app: string; readonly peer: string }) => (
  <Card>
    <Empty title="This peer is not connected, and has not been in the last minute.">
      <p>Check the id: ids are case-sensitive. This page updates itself when the peer connects.</p>
      <p class="row centered">
        <a class="button" href={peersPage(app, peer.slice(0, 3))}>
          Find similar ids
        </a>
        <a class="button" href={consolePage(app, { peer })}>
          Watch for it in the console
        </a>
      </p>
    </Empty>
  </Card>
);
