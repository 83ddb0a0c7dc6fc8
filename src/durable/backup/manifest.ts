/** What a backup says about itself: the first entry of its archive. */
import { ArchiveError } from "../archive/errors.ts";

/** The format that this version writes. A reader refuses a later one. */
export const BACKUP_FORMAT = 1;

export interface Manifest {
  readonly format: number;
  /** The version of Parley that made it. */
  readonly parley: string;
  /** The moment that it shows, as in 2026-11-18T15:43:30.123Z. */
  readonly at: string;
  /** The schema of the embedded store; null: the store is in PostgreSQL, and not in the backup. */
  readonly schema: number | null;
  /** `referenced`: only their list is in the backup, and their files are where they were. */
  readonly recordings: "copied" | "referenced";
  /** How many files there are, and how many bytes they have together: for progress only. */
  readonly files: number;
  readonly bytes: number;
}

/** Throws ArchiveError. Without a key, anyone can have written a manifest. */
export function manifestIn(archive: { readonly manifest: Readonly<Record<string, unknown>> }): Manifest {
  const manifest = archive.manifest as unknown as Manifest;
  const { at, schema, recordings, bytes } = manifest;
  const isOurs =
    typeof at === "string" &&
    !Number.isNaN(Date.parse(at)) &&
    (schema === null || Number.isSafeInteger(schema)) &&
    (recordings === "copied" || recordings === "referenced") &&
    Number.isSafeInteger(bytes);
  if (!isOurs) throw new ArchiveError("damaged", "its manifest is not one that Parley writes");
  return manifest;
}

/** Names of entries. Recordings are `recordings/<app>/<id>`, and bytes of open uploads `uploads/<app>/<id>/<locator>`. */
export const STORE_ENTRY = "parley.sqlite";
export const HISTORY_ENTRY = "history.sqlite";
export const MASTER_KEY_ENTRY = "master.key";

export interface FileEntry {
  readonly kind: "recording" | "upload";
  readonly app: string;
  readonly id: string;
  /** The locator of an open upload; "" if it has none. */
  readonly locator: string;
}

export const entryName = ({ kind, app, id, locator }: FileEntry): string =>
  kind === "recording" ? `recordings/${app}/${id}` : `uploads/${app}/${id}/${locator === "" ? "-" : locator}`;

/** undefined: it is no file of a recording. */
export function parseEntryName(name: string): FileEntry | undefined {
  const recording = /^recordings\/([0-9a-f]{24})\/([0-9a-f]{24})$/.exec(name);
  if (recording) return { kind: "recording", app: recording[1] ?? "", id: recording[2] ?? "", locator: "" };
  const upload = /^uploads\/([0-9a-f]{24})\/([0-9a-f]{24})\/(-|g\d{1,16})$/.exec(name);
  if (!upload) return undefined;
  const locator = upload[3] === "-" ? "" : (upload[3] ?? "");
  return { kind: "upload", app: upload[1] ?? "", id: upload[2] ?? "", locator };
}
