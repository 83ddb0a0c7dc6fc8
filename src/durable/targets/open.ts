/**
 * Opens the place that an operator names:
 *
 *   /backups/, or any existing folder      a folder of backups; with a slash at its end, it is made by the first write
 *   /backups/x.parley                      one file
 *   s3://bucket/prefix?endpoint=…          a bucket, spelled as in PARLEY_STORAGE_URL; credentials are read from the environment too
 *   s3://bucket/prefix/parley-….backup     one backup in it
 */
import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { parseS3Address } from "../../recordings/storage/s3/address.ts";
import { StorageError } from "../../recordings/storage/storage.ts";
import { BucketTarget } from "./bucket.ts";
import { FolderTarget } from "./folder.ts";
import { isBackupName } from "./names.ts";
import { type Target, TargetError } from "./target.ts";

export interface TargetOptions {
  /** Has the credentials of a bucket, if its address does not. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Unix ms. */
  readonly nowMs: () => number;
  /** Whether a single file may be replaced. */
  readonly force?: boolean | undefined;
}

export async function openTarget(text: string, { env, nowMs, force = false }: TargetOptions): Promise<Target> {
  if (/^s3:/i.test(text)) return openBucket(text, env, nowMs, force);
  refuseAddress(text);
  const path = resolve(text);
  const isFolder = text.endsWith("/") || (await stat(path).catch(() => undefined))?.isDirectory();
  return isFolder
    ? new FolderTarget(path, nowMs)
    : new FolderTarget(dirname(path), nowMs, { name: basename(path), force });
}

/** An address of another kind would be made as a folder of that name, below that of the process. Throws TargetError. */
export function refuseAddress(text: string): void {
  if (text === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    throw new TargetError("bad-address", "a place for backups is a path, or has the form s3://bucket/prefix");
}

function openBucket(text: string, env: TargetOptions["env"], nowMs: () => number, force: boolean): Target {
  try {
    const address = parseS3Address(text, env);
    const folders = address.prefix.split("/").slice(0, -1);
    const name = folders.pop() ?? "";
    if (!isBackupName(name)) return new BucketTarget(address, nowMs);
    const prefix = folders.map((folder) => `${folder}/`).join("");
    return new BucketTarget({ ...address, prefix }, nowMs, { name, force });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new TargetError("bad-address", `the address of the bucket for backups cannot be used: ${error.message}`);
  }
}
