/** A list as a CSV file. */
import { useSignal } from "@preact/signals";
import type { WholeList } from "../live/live.ts";
import { type CsvColumn, csvOf } from "../text/csv.ts";
import { whole } from "../text/format.ts";
import { messageOf, toast } from "./notice.tsx";

/** A file that is larger comes from the API: it would be put together in the browser's memory. */
const ROWS_MAX = 10_000;
/** Without it, spreadsheets take UTF-8 for something else. */
const BYTE_ORDER_MARK = "\uFEFF";

interface DownloadProps<T> {
  /** The name of the file, without its ending. */
  readonly name: string;
  readonly columns: readonly CsvColumn<T>[];
  /** What is shown; of a list that goes on, `all` has the rest. */
  readonly rows: readonly T[];
  readonly all?: ((max: number) => Promise<WholeList<T>>) | undefined;
}

export function DownloadCsv<T>({ name, columns, rows, all }: DownloadProps<T>) {
  const isBusy = useSignal(false);
  const run = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const found = all ? await all(ROWS_MAX) : { rows: rows.slice(0, ROWS_MAX), isCut: rows.length > ROWS_MAX };
      save(`${name}.csv`, csvOf(columns, found.rows));
      if (found.isCut) toast(`The list is longer: the file has its first ${whole(ROWS_MAX)} rows.`, "bad");
    } catch (error) {
      toast(messageOf(error), "bad");
    }
    isBusy.value = false;
  };
  return (
    <button type="button" class="quiet" disabled={isBusy.value || rows.length === 0} onClick={run}>
      Download CSV
    </button>
  );
}

function save(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Once the browser has begun to save it.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
