/** The backups that are kept: download and delete. */
import type { Backup, Backups } from "../../api/backup-types.ts";
import { addressOf, remove, segment } from "../../api/client.ts";
import { bytes, exactTime } from "../../text/format.ts";
import { confirm } from "../../ui/dialog.tsx";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";

interface BackupListProps {
  readonly state: Backups;
  /** Where the control plane has them. */
  readonly path: string;
  readonly reload: () => Promise<void>;
}

export function BackupList({ state: { data, problem }, path, reload }: BackupListProps) {
  if (data === null)
    return (
      <Card title="Stored backups">
        <p class="muted">Only operators with the role admin can see, download and delete backups.</p>
      </Card>
    );
  const columns: readonly Column<Backup>[] = [
    { title: "Backup", value: ({ name }) => name, cell: ({ name }) => <Name>{name}</Name> },
    { title: "Created", rem: 7, value: ({ at }) => at, isTime: true, cell: ({ at }) => <Time at={at} /> },
    { title: "Size", rem: 6, isNumber: true, value: (one) => one.bytes, cell: ({ bytes: size }) => bytes(size) },
    {
      title: "Actions",
      rem: 14,
      cell: (one) => (
        <div class="row">
          <a
            class="button small"
            href={addressOf(`${path}/${segment(one.name)}`)}
            download={one.name}
            aria-label={`Download ${one.name}`}
          >
            Download
          </a>
          <button
            type="button"
            class="small danger"
            aria-label={`Delete ${one.name}`}
            onClick={() => askToDelete(path, one, reload)}
          >
            Delete
          </button>
        </div>
      ),
    },
  ];
  return (
    <>
      <Card
        title="Stored backups"
        aside={
          data.length > 0 && (
            <span class="row">
              {summaryOf(data)}
              <DownloadCsv name="backups" columns={columns} rows={data} />
            </span>
          )
        }
      >
        <Table
          label="Backups"
          columns={columns}
          rows={data}
          keyOf={({ name }) => name}
          isStacked
          isFixed
          sortIn="sort"
          empty={
            problem === null ? (
              <Empty title="There are no backups yet.">The first one appears here when it is complete.</Empty>
            ) : (
              <Empty title="The backups cannot be listed right now." />
            )
          }
        />
      </Card>
      <p class="muted small">
        A download has all messages and recordings; secrets in it are sealed with the master key, which is not in it.
        Restore it with <code>bin/parley restore FILE</code>.
      </p>
    </>
  );
}

const summaryOf = (data: readonly Backup[]): string =>
  `${data.length === 1 ? "1 backup" : `${data.length} backups`}, ${bytes(data.reduce((sum, one) => sum + one.bytes, 0))}`;

function askToDelete(path: string, { name, bytes: size, at }: Backup, reload: () => Promise<void>): void {
  confirm({
    title: `Delete ${name}?`,
    text: (
      <p>
        The backup of {exactTime(at)} is deleted, {bytes(size)}. This cannot be undone.
      </p>
    ),
    submit: "Delete the backup",
    isDanger: true,
    run: async () => {
      await remove(`${path}/${segment(name)}`);
      toast(`${name} has been deleted.`);
      await reload();
    },
  });
}
