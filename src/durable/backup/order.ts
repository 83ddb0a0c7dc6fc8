/**
 * What the process that makes a backup gets, and what it reports. The service starts it: reading and compressing gigabytes would disturb clients,
 * and the files of the stores must be read by another process than the one that has them open (store/contract/still-files.ts).
 *
 * 1. It reports `ready`, so that its own start does not prolong the hold.
 * 2. It gets the order, copies the files of the stores, and reports `copied`.
 * 3. It gets `go` if the files were still until then. It checks the copies, writes the archive, and reports `done`.
 *
 * Lines of JSON: orders on its standard input, reports on its standard error. The archive goes to its standard output, or to the target of the order.
 * When its standard input ends before that, the service is gone, and it ends too.
 */
import type { StorageSettings } from "../../recordings/open-storage.ts";
import type { StillFile } from "../../store/contract/still-files.ts";

export interface Order {
  /** The version of Parley, for the manifest. */
  readonly parley: string;
  /** Unix ms. */
  readonly atMs: number;
  /** Files of the embedded stores; none: they are in PostgreSQL. */
  readonly still: readonly StillFile[];
  /** Where the rows of recordings are, if not in a file. */
  readonly databaseUrl: string;
  readonly storage: StorageSettings;
  readonly withRecordings: boolean;
  /** null: standard output. */
  readonly target: OrderedTarget | null;
}

export interface OrderedTarget {
  /** A folder or a bucket. */
  readonly to: string;
  /** In base64; null: it is not encrypted. */
  readonly key: string | null;
}

export interface Progress {
  readonly bytes: number;
  readonly total: number;
}

export interface Made {
  /** The name of the archive in its target; null: it went to standard output. */
  readonly name: string | null;
  readonly archiveBytes: number;
  /** Bytes of the files in it. */
  readonly bytes: number;
  readonly files: number;
  /** Recordings whose file is not in the storage, or has another size than it had: they are not in the backup. */
  readonly missing: number;
}

export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "copied" }
  | ({ readonly kind: "progress" } & Progress)
  | ({ readonly kind: "done" } & Made)
  | { readonly kind: "failed"; readonly why: string };

/** The second line that it gets. */
export const GO = "go";
