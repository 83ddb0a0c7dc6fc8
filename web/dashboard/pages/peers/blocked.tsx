/** Blocked peers: a list of them, the block of one, and how to end it. */
import { useSignal } from "@preact/signals";
import { keyPage, peerPage } from "../../address/links.ts";
import { remove, segment } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import { mayChange } from "../../api/session.ts";
import type { Block, BlockedPeer } from "../../api/types.ts";
import type { LiveList } from "../../live/live.ts";
import { peerName } from "../../live/peer-names.ts";
import { duration, exactTime } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty, messageOf, Notice, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, NamedId, Time } from "../../ui/values.tsx";

export const blockedId = ({ peerId }: BlockedPeer): string => peerId;

const blockedColumns = (app: string, reload: () => Promise<void>): readonly Column<BlockedPeer>[] => [
  {
    title: "Peer",
    value: blockedId,
    cell: ({ peerId }) => <NamedId id={peerId} href={peerPage(app, peerId)} name={peerName(app, peerId)} />,
    below: ({ until, by }) => (
      <>
        ends <Time at={until} />
        {by !== undefined && `, by ${by}`}
      </>
    ),
  },
  {
    title: "Ends",
    value: ({ until }) => until,
    isTime: true,
    cell: ({ until }) => <Time at={until} />,
    isMedium: true,
    rem: 7.5,
  },
  {
    title: "Blocked by",
    value: ({ by }) => by,
    cell: ({ by }) => <Blocker app={app} by={by} />,
    isMedium: true,
    width: 35,
  },
  ...(mayChange.value
    ? [
        {
          title: "Actions",
          cell: ({ peerId }: BlockedPeer) => (
            <Unblock app={app} peer={peerId} who={peerName(app, peerId) ?? peerId} onDone={reload} />
          ),
          rem: 7,
        },
      ]
    : []),
];

interface BlockedPeersProps {
  readonly app: string;
  readonly list: LiveList<BlockedPeer>;
  /** What is searched for. */
  readonly contains: string;
}

export const BlockedPeers = ({ app, list, contains }: BlockedPeersProps) => (
  <Card>
    <Table
      label="Blocked peers"
      columns={blockedColumns(app, list.reload)}
      rows={list.data ?? []}
      keyOf={blockedId}
      isVirtual
      sortIn="sort"
      hasMore={list.hasMore}
      loadMore={list.loadMore}
      onLook={list.look}
      empty={
        contains ? (
          <Empty title={`No blocked peer has “${inText(contains)}” in its id.`} />
        ) : (
          <Empty title="No peers are blocked.">
            To block one, open its page under Connected, or call <code>DELETE /v1/peers/:peerId?blockSec=</code>. A
            block ends by itself, after 24 hours at most.
          </Empty>
        )
      }
    />
    <ListFoot list={list} what="blocked peers" />
  </Card>
);

interface BlockNoticeProps {
  readonly app: string;
  readonly peer: string;
  /** What people call it, else its id. */
  readonly who: string;
  readonly block: Block;
  readonly onDone: () => Promise<void>;
}

/** On the page of the peer. */
export const BlockNotice = ({ app, peer, who, block: { until, by }, onDone }: BlockNoticeProps) => (
  <Notice kind="warn">
    <span class="row">
      <span>
        <strong>This peer is blocked</strong> for another{" "}
        <time dateTime={new Date(until * 1000).toISOString()} title={exactTime(until)}>
          {duration(until - nowSeconds.value)}
        </time>
        : no one can connect as this peer.
        {by !== undefined && (
          <>
            {" "}
            Blocked by <Blocker app={app} by={by} />
          </>
        )}
      </span>
      {mayChange.value && (
        <span class="push">
          <Unblock app={app} peer={peer} who={who} onDone={onDone} />
        </span>
      )}
    </span>
  </Notice>
);

/** An operator, or a key of the application's backend. */
const Blocker = ({ app, by }: { readonly app: string; readonly by: string | undefined }) => {
  if (by === undefined) return <span class="muted">not known</span>;
  return by.startsWith("sk_id_") ? <Name href={keyPage(app, by)}>{by}</Name> : <bdi>{by}</bdi>;
};

interface UnblockProps {
  readonly app: string;
  readonly peer: string;
  readonly who: string;
  readonly onDone: () => Promise<void>;
}

/** At once: it can be blocked again. */
function Unblock({ app, peer, who, onDone }: UnblockProps) {
  const isBusy = useSignal(false);
  const unblock = async (): Promise<void> => {
    isBusy.value = true;
    try {
      await remove(`/apps/${segment(app)}/blocks/${segment(peer)}`);
      toast(`${who} can connect again.`);
      await onDone();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
    isBusy.value = false;
  };
  return (
    <button type="button" class="small" disabled={isBusy.value} aria-label={`Unblock ${who}`} onClick={unblock}>
      Unblock
    </button>
  );
}
