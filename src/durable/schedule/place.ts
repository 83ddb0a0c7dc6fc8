/** Where the schedule and the dashboard keep backups: the folder or the bucket of PARLEY_BACKUP_TO, as it is opened and as it is shown. */
import { relative, resolve } from "node:path";
import { parseS3Address } from "../../recordings/storage/s3/address.ts";
import { StorageError } from "../../recordings/storage/storage.ts";
import { isBackupName } from "../targets/names.ts";
import { openTarget, refuseAddress, type TargetOptions } from "../targets/open.ts";
import { type Target, TargetError } from "../targets/target.ts";

export interface BackupPlace {
  readonly kind: "folder" | "bucket";
  /** For openTarget; may have a credential. */
  readonly to: string;
  /** Without a credential: `/backups`, `s3://bucket/prefix`. */
  readonly shown: string;
  /** It is lost together with what it is a backup of. */
  readonly isInDataFolder: boolean;
  open(): Promise<Target>;
}

/** Throws TargetError. */
export function backupPlace(setting: string, dataFolder: string, options: TargetOptions): BackupPlace {
  if (/^s3:/i.test(setting)) return bucketOf(setting, options);
  refuseAddress(setting);
  // One file could not have a second backup beside it.
  const to = `${resolve(setting)}/`;
  return {
    kind: "folder",
    to,
    shown: resolve(setting),
    isInDataFolder: !/^\.\.(\/|$)/.test(relative(resolve(dataFolder), to)),
    open: () => openTarget(to, options),
  };
}

function bucketOf(setting: string, options: TargetOptions): BackupPlace {
  try {
    const { bucket, prefix } = parseS3Address(setting, options.env);
    const path = prefix.replace(/\/$/, "");
    if (isBackupName(path.split("/").at(-1) ?? ""))
      throw new TargetError("bad-address", "it names a single backup: name the prefix that backups are written below");
    const shown = `s3://${bucket}${path === "" ? "" : `/${path}`}`;
    return { kind: "bucket", to: setting, shown, isInDataFolder: false, open: () => openTarget(setting, options) };
  } catch (error) {
    throw error instanceof StorageError ? new TargetError("bad-address", error.message) : error;
  }
}
