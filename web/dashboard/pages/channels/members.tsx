/** The members of a channel, with their metadata and state. */
import { useSignal } from "@preact/signals";
import { peerPage } from "../../address/links.ts";
import type { ChannelMember } from "../../api/types.ts";
import type { LiveList } from "../../live/live.ts";
import { whole } from "../../text/format.ts";
import { nameIn } from "../../text/peer-name.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { JsonCell, JsonDialog, type ShownJson } from "../../ui/json.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, NamedId } from "../../ui/values.tsx";

interface ChannelMembersProps {
  readonly app: string;
  readonly list: LiveList<ChannelMember>;
  readonly total: number;
}

export function ChannelMembers({ app, list, total }: ChannelMembersProps) {
  const opened = useSignal<ShownJson | undefined>(undefined);
  const json = (title: "Metadata" | "State"): Column<ChannelMember> => ({
    title,
    width: 28,
    value: (member) => JSON.stringify(title === "State" ? member.state : member.metadata),
    cell: (member) => {
      const value = title === "State" ? member.state : member.metadata;
      return (
        <JsonCell value={value} onOpen={() => (opened.value = { title: `${title} of ${member.peerId}`, value })} />
      );
    },
  });
  const columns: readonly Column<ChannelMember>[] = [
    {
      title: "Peer",
      value: ({ peerId }) => peerId,
      cell: ({ peerId, metadata, state, lost }) => (
        <span class="row tight">
          <NamedId id={peerId} href={peerPage(app, peerId)} name={nameIn(metadata, state)} />
          {lost && (
            <span title="Its connection was lost. It leaves when its grace period ends.">
              <Badge kind="warn">lost</Badge>
            </span>
          )}
        </span>
      ),
    },
    json("Metadata"),
    json("State"),
    {
      title: "Connections",
      value: ({ connections }) => connections,
      cell: ({ connections }) => whole(connections),
      isNumber: true,
      isMedium: true,
      rem: 7.5,
    },
  ];
  return (
    <Card
      title="Members"
      aside={
        <span class="row">
          {whole(total)}
          <DownloadCsv
            name="members"
            columns={columns}
            rows={list.data ?? []}
            all={list.hasMore ? list.all : undefined}
          />
        </span>
      }
    >
      <Table
        label="Members"
        columns={columns}
        rows={list.data ?? []}
        keyOf={({ peerId }) => peerId}
        isVirtual
        sortIn="sort"
        hasMore={list.hasMore}
        loadMore={list.loadMore}
        onLook={list.look}
        empty={
          <Empty title="No clients are subscribed to this channel right now.">
            Members appear here when they subscribe.
          </Empty>
        }
      />
      <ListFoot list={list} what="members" />
      <JsonDialog shown={opened.value} onClose={() => (opened.value = undefined)} />
    </Card>
  );
}
