/** One peer: its connections, its last events, and what an operator can do about it. */
import type { ComponentChildren } from "preact";
import { channelPage, consolePage, keyPage, peersPage } from "../../address/links.ts";
import type { PageParameters } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import { mayChange } from "../../api/session.ts";
import type { PeerConnection, PeerDetail } from "../../api/types.ts";
import { useLive } from "../../live/live.ts";
import { peerName, rememberPeer } from "../../live/peer-names.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { clock, day, exactTime, rate, whole } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { PeerActions } from "./actions.tsx";
import { BlockNotice } from "./blocked.tsx";
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
    meaning: TERMS.framesPerSec,
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
  const { connections = [], recent = [], total = 0, isComplete = true, block } = live.data ?? {};
  // The service does not know the name of a peer without a connection.
  rememberPeer(app, peer, live.data?.name);
  const who = peerName(app, peer) ?? peer;
  const { reload } = live;
  // A node that has not responded may have its connections.
  const isGone = live.data !== undefined && isComplete && total === 0;
  return (
    <Page
      title={who}
      actions={
        mayChange.value && (
          <PeerActions
            app={app}
            peer={peer}
            who={who}
            connections={total}
            publishable={publishableOf([...connections, ...recent])}
            onDone={() => void reload()}
          />
        )
      }
      intro={introOf(app, live.data, who === peer ? undefined : peer)}
      isReady={live.data !== undefined}
      error={live.error}
      isComplete={isComplete}
    >
      {block && <BlockNotice app={app} peer={peer} who={who} block={block} onDone={reload} />}
      {isGone && recent.length === 0 ? (
        <Unknown app={app} peer={peer} isKnown={live.data?.offlineSince !== undefined} />
      ) : (
        <>
          <Card
            title="Connections"
            aside={
              <span class="row">
                {total > connections.length ? `the newest ${connections.length} of ${whole(total)}` : whole(total)}
                <DownloadCsv name={`connections-${peer}`} columns={IN_FILE} rows={connections} />
              </span>
            }
          >
            <p role="status">
              {isGone &&
                "This peer is not connected now. Its last events stay here for a minute after its connection ended."}
            </p>
            <Table
              label="Connections"
              columns={columnsOf(app)}
              rows={connections}
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

/** The way back, and when it was here. `id`: where the title is its name. */
function introOf(app: string, found: PeerDetail | undefined, id: string | undefined): ComponentChildren {
  if (!found) return undefined;
  const { lastMessage, offlineSince } = found;
  const facts = [
    <a key="all" href={peersPage(app)}>
      All peers
    </a>,
    id !== undefined && <code key="id">{id}</code>,
    lastMessage !== undefined && ["Last message ", <Time key="message" at={lastMessage} />],
    offlineSince !== undefined && <Since at={offlineSince} />,
  ].filter(Boolean);
  return facts.flatMap((fact, at) => (at === 0 ? [fact] : [" · ", fact]));
}

/** On another day than today, the time of day alone would mislead. */
const Since = ({ at }: { readonly at: number }) => (
  <>
    Offline since {day(at) === day(nowSeconds.value) ? clock(at * 1000) : exactTime(at)} (
    <Time at={at} now="just now" />)
  </>
);

interface UnknownProps {
  readonly app: string;
  readonly peer: string;
  /** A node remembers that it was connected. */
  readonly isKnown: boolean;
}

const Unknown = ({ app, peer, isKnown }: UnknownProps) => (
  <Card>
    <Empty title="This peer is not connected, and has not been in the last minute.">
      <p>{!isKnown && "Check the id: ids are case-sensitive. "}This page updates itself when the peer connects.</p>
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
