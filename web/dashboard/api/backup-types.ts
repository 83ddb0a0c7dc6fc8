/** What the control plane answers about backups. Names, places and causes are null for role read. */
export interface Backups {
  /** null: PARLEY_BACKUP_TO is not set. */
  readonly target: BackupPlace | null;
  /** null: none are scheduled. */
  readonly everySeconds: number | null;
  readonly nextAt: number | null;
  readonly health: "ok" | "failed" | "late" | null;
  readonly keep: number;
  readonly isEncrypted: boolean;
  readonly hasRecordings: boolean;
  /** false: the store is in PostgreSQL. */
  readonly hasDatabase: boolean;
  readonly making: BackupMaking | null;
  readonly lastSuccess: {
    readonly at: number;
    readonly name: string | null;
    readonly bytes: number;
    readonly seconds: number;
    readonly missing: number;
  } | null;
  readonly lastFailure: { readonly at: number; readonly why: string | null } | null;
  /** How many have failed since the last success. */
  readonly failures: number;
  /** When an operator last got one with `parley backup`. */
  readonly lastSent: number | null;
  /** Why old ones could not be deleted. */
  readonly notRemoved: string | null;
  /** Newest first. */
  readonly data: readonly Backup[] | null;
  /** Why they cannot be listed. */
  readonly problem: string | null;
}

export interface BackupPlace {
  readonly kind: "folder" | "bucket";
  readonly place: string | null;
  readonly isInDataFolder: boolean;
}

export interface BackupMaking {
  readonly since: number;
  readonly isHere: boolean;
  readonly bytes: number | null;
  readonly total: number | null;
}

export interface Backup {
  readonly name: string;
  readonly bytes: number;
  readonly at: number;
}
