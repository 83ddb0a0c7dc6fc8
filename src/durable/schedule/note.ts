/**
 * What became of the last backups. It is in the store: a restart neither forgets a backup nor repeats it, and every node can show it.
 * A restored store has the note of the moment in which its backup was made.
 */
import type { Change, Store } from "../../store/contract/store.ts";

const NAME = "backups";
/** Errors may quote what a storage answered. */
const WHY_MAX_CHARS = 500;

export interface MadeBackup {
  /** The moment that it shows, in Unix ms. */
  readonly atMs: number;
  readonly name: string;
  /** Bytes of its archive. */
  readonly bytes: number;
  readonly durationMs: number;
  /** Recordings without a file: they are not in it. */
  readonly missing: number;
}

export interface BackupNote {
  /** The last one that was written to the target. */
  readonly success: MadeBackup | null;
  readonly failure: { readonly atMs: number; readonly why: string } | null;
  /** Attempts that have failed since the last success. */
  readonly failures: number;
  /** Unix ms of the last backup that an operator got as it was made (`parley backup`). */
  readonly sentMs: number | null;
  /** Why old backups could not be removed after the last success. */
  readonly notRemoved: string | null;
}

const NONE: BackupNote = { success: null, failure: null, failures: 0, sentMs: null, notRemoved: null };

export type Outcome =
  | { readonly kind: "made"; readonly made: MadeBackup }
  | { readonly kind: "failed"; readonly atMs: number; readonly why: string }
  | { readonly kind: "sent"; readonly atMs: number }
  /** Old ones were removed, or not. */
  | { readonly kind: "removed"; readonly notRemoved: string | null };

const withOutcome = (note: BackupNote, outcome: Outcome): BackupNote => {
  switch (outcome.kind) {
    case "made":
      return { ...note, success: outcome.made, failures: 0 };
    case "failed":
      return {
        ...note,
        failure: { atMs: outcome.atMs, why: cut(outcome.why) },
        failures: note.failures + 1,
      };
    case "sent":
      return { ...note, sentMs: outcome.atMs };
    case "removed":
      return { ...note, notRemoved: outcome.notRemoved && cut(outcome.notRemoved) };
  }
};

const cut = (text: string): string => text.slice(0, WHY_MAX_CHARS);

export class BackupNotes {
  /** As it was last read or written here. */
  latest: BackupNote = NONE;

  constructor(private readonly store: Pick<Store, "meta">) {}

  async read(): Promise<BackupNote> {
    this.latest = parsed(await this.store.meta(NAME));
    return this.latest;
  }

  /** Within a change of the store. */
  async write(change: Pick<Change, "meta" | "putMeta">, outcome: Outcome): Promise<void> {
    const note = withOutcome(parsed(await change.meta(NAME)), outcome);
    await change.putMeta(NAME, JSON.stringify(note));
    this.latest = note;
  }
}

/** Fields that an earlier version did not write have their initial values. */
const parsed = (text: string | undefined): BackupNote =>
  text === undefined ? NONE : { ...NONE, ...(JSON.parse(text) as Partial<BackupNote>) };
