/** Who has written to a stream with numbers, so that nothing is stored twice. */
import { keyPage, peerPage } from "../../address/links.ts";
import type { StreamProducer } from "../../api/stream-types.ts";
import { whole } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";

/** The most that the service names: those used last. */
const SHOWN_MAX = 100;

const Owner = ({ app, of: { keyId, peerId = "" } }: { readonly app: string; readonly of: StreamProducer }) =>
  keyId === undefined ? (
    <Name href={peerPage(app, peerId)}>{peerId}</Name>
  ) : (
    <Name href={keyPage(app, keyId)}>{keyId}</Name>
  );

const columnsOf = (app: string): readonly Column<StreamProducer>[] => [
  { title: "Producer", value: ({ id }) => id, cell: ({ id }) => <Name>{id}</Name> },
  {
    title: "Key or peer",
    value: ({ keyId, peerId }) => keyId ?? peerId,
    cell: (one) => <Owner app={app} of={one} />,
  },
  {
    title: "Epoch",
    meaning: TERMS.producerEpoch,
    value: ({ epoch }) => epoch,
    cell: ({ epoch }) => whole(epoch),
    isNumber: true,
    rem: 6,
  },
  { title: "Last write", value: ({ seq }) => seq, cell: ({ seq }) => whole(seq), isNumber: true, rem: 6.5 },
  { title: "Used", value: ({ used }) => used, isTime: true, cell: ({ used }) => <Time at={used} />, rem: 7 },
];

interface ProducersProps {
  readonly app: string;
  readonly channel: string;
  readonly rows: readonly StreamProducer[];
}

export const Producers = ({ app, channel, rows }: ProducersProps) => (
  <Card
    title="Producers"
    aside={
      <span class="row">
        {rows.length === SHOWN_MAX && `the last ${SHOWN_MAX}`}
        <DownloadCsv name={`producers-${channel}`} columns={columnsOf(app)} rows={rows} />
      </span>
    }
  >
    <Table
      label="Producers"
      columns={columnsOf(app)}
      rows={rows}
      keyOf={({ keyId = "", peerId = "", id }) => `${keyId} ${peerId} ${id}`}
      sortIn="producers"
      isStacked
      isFixed
      empty={
        <Empty title="No producer has written to this stream.">
          Writers that number their writes with <code>Producer-Id</code>, <code>Producer-Epoch</code> and{" "}
          <code>Producer-Seq</code> appear here. A write that they repeat is stored only once.
        </Empty>
      }
    />
  </Card>
);
