/** Why a backup cannot be read. The reasons are a closed set: commands and tests decide by them, operators read the message. */
import { StoreError } from "../../store/contract/store.ts";

export type ArchiveReason = "not-a-backup" | "newer-format" | "needs-key" | "wrong-key" | "truncated" | "damaged";

const KEY = "PARLEY_BACKUP_KEY to the key that it was made with (32 bytes in base64)";

/** What happened, before the detail, and what to do, behind it. */
const TEXTS: Readonly<Record<ArchiveReason, readonly [what: string, todo: string]>> = {
  "not-a-backup": ["this is not a Parley backup", "Choose a file that `parley backup` wrote."],
  "newer-format": ["this backup was made by a newer version of Parley", "Restore it with that version or a later one."],
  "needs-key": ["this backup is encrypted, and no key is set", `Set ${KEY}.`],
  "wrong-key": ["this backup is encrypted with another key", `Set ${KEY}.`],
  truncated: ["this backup is incomplete", "Copy it again, or use another backup."],
  damaged: ["this backup is damaged", "Copy it again from its original place, or use another backup."],
};

export class ArchiveError extends StoreError {
  /** `detail`: which part of the file shows it, as a clause; it has no contents of the backup in it. */
  constructor(
    readonly reason: ArchiveReason,
    detail: string,
  ) {
    const [what, todo] = TEXTS[reason];
    super(`${what}: ${detail}. ${todo}`);
  }
}

/** The source of an entry has more or fewer bytes than was declared, so the backup that is being written cannot be finished. */
export class SourceChanged extends StoreError {
  constructor(name: string, declared: number, found: string) {
    const todo = "Run the backup again.";
    super(`${name} changed during the backup: it had ${declared} bytes, and now has ${found}. ${todo}`);
  }
}
