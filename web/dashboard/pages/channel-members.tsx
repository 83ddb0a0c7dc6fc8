/** The members of a channel, with their metadata. */
import { useSignal } from "@preact/signals";
import type { ChannelMember } from "../api/types.ts";
import { preview } from "../lib/event-text.ts";
import { whole } from "../lib/format.ts";
import { peerPage } from "../lib/links.ts";
import type { LiveList } from "../lib/live.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ListFoot } from "../ui/list-foot.tsx";
import { Empty } from "../ui/notice.tsx";
import { Card } from "../ui/page.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Name, Snippet } from "../ui/values.tsx";

interface ChannelMembersProps {
  readonly app: string;
  readonly list: LiveList<ChannelMember>;
  readonly total: number;
}

export function ChannelMembers({ app, list, total }: ChannelMembersProps) {
  const opened = useSignal<ChannelMember | undefined>(undefined);
  const columns: readonly Column<ChannelMember>[] = [
    { title: "Peer", cell: ({ peerId }) => <Name href={peerPage(app, peerId)}>{peerId}</Name> },
    {
      title: "Metadata",
      width: 45,
      cell: (member) =>
        member.metadata === undefined ? (
          <span class="muted">none</span>
        ) : (
          <button
            type="button"
            class="quiet name mono as-text"
            title="Show all of it"
            onClick={() => (opened.value = member)}
          >
            {preview(member.metadata)}
          </button>
        ),
    },
    { title: "Connections", cell: ({ connections }) => whole(connections), isNumber: true, isMinor: true, width: 14 },
  ];
  return (
    <Card title="Members" aside={whole(total)}>
      <Table
        label="Members"
        columns={columns}
        rows={list.data ?? []}
        keyOf={({ peerId }) => peerId}
        isVirtual
        hasMore={list.hasMore}
        loadMore={list.loadMore}
        onLook={list.look}
        empty={
          <Empty title="No client is subscribed to this channel now.">Members appear here when they subscribe.</Empty>
        }
      />
      <ListFoot list={list} what="members" />
      {opened.value && (
        <Dialog title={`Metadata of ${opened.value.peerId}`} onClose={() => (opened.value = undefined)}>
          <Snippet text={JSON.stringify(opened.value.metadata, null, 2)} what="metadata" />
          <div class="form-actions below">
            <button type="button" onClick={() => (opened.value = undefined)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </Card>
  );
}
