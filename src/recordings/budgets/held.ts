/**
 * What this process has taken of uploads whose rows are not written with each part: the store learns of those bytes a minute or 16 MiB later, and the
 * budgets count them until then. Where leases are kept in the store, their release notes the bytes, and nothing is held here.
 *
 * Never less than what came is counted. More is only counted of an upload that has ended in a way this process did not see: `noteIdle` corrects that.
 */
import type { AppId } from "../../base/ids.ts";
import type { RecordingStore, UploadRow } from "../../store/contract/recordings.ts";

/** Bound: of the upload beyond these that got no part for the longest time, the bytes are noted in the store, and it is forgotten. */
const HELD_MAX = 10_000;
/** Rows of uploads that parts come to are noted as often. */
export const NOTE_EVERY_MS = 60_000;

export interface HeldUpload {
  readonly app: AppId;
  readonly stay: string | null;
  readonly byGuest: boolean;
  readonly generation: number;
  /** How many bytes it has. */
  readonly bytes: number;
  /** How many of them its row has. */
  readonly noted: number;
  /** Unix ms of the last part. */
  readonly touched: number;
}

type Owner = Pick<UploadRow, "id" | "app" | "stay" | "byGuest" | "bytes">;

export class HeldBytes {
  /** Bound: HELD_MAX; the first one is that to which nothing came for the longest time. */
  private readonly uploads = new Map<string, HeldUpload>();

  constructor(
    private readonly store: Pick<RecordingStore, "noteBytes">,
    private readonly nowMs: () => number,
    private readonly max = HELD_MAX,
  ) {}

  get(id: string): HeldUpload | undefined {
    return this.uploads.get(id);
  }

  all(): Iterable<[string, HeldUpload]> {
    return this.uploads;
  }

  /** How many bytes the store has of it: the row may have been read before the last note. */
  notedOf({ id, bytes }: Pick<Owner, "id" | "bytes">): number {
    return Math.max(bytes, this.uploads.get(id)?.noted ?? 0);
  }

  /** A part has come, and the upload has this many bytes now. */
  async took(row: Owner, generation: number, bytes: number): Promise<void> {
    this.set(row, generation, bytes, this.notedOf(row));
    const [oldest] = this.uploads;
    if (this.uploads.size <= this.max || !oldest) return;
    this.uploads.delete(oldest[0]);
    // The part of this upload has come, whatever happens to the row of that one; its end notes the bytes again.
    await this.note(oldest[0], oldest[1]).catch(() => undefined);
  }

  /** The row says by now that it has this many bytes. */
  noted(row: Owner, generation: number, bytes: number): void {
    this.set(row, generation, Math.max(bytes, this.uploads.get(row.id)?.bytes ?? 0), bytes);
  }

  private set({ id, app, stay, byGuest }: Owner, generation: number, bytes: number, noted: number): void {
    this.uploads.delete(id);
    this.uploads.set(id, { app, stay, byGuest, generation, bytes, noted, touched: this.nowMs() });
  }

  /** It has ended, or its row has all its bytes. */
  forget(id: string): void {
    this.uploads.delete(id);
  }

  /** Notes and forgets uploads of the application to which nothing came for a while. false: there were none. */
  async noteIdle(app: AppId): Promise<boolean> {
    const before = this.nowMs() - NOTE_EVERY_MS;
    const idle = [...this.uploads].filter(([, held]) => held.app === app && held.touched < before);
    for (const [id, held] of idle) {
      if (this.uploads.get(id) !== held) continue;
      await this.note(id, held);
      // Afterwards: until the row has its bytes, they count here.
      if (this.uploads.get(id) === held) this.uploads.delete(id);
    }
    return idle.length > 0;
  }

  private async note(id: string, { generation, bytes, noted, touched }: HeldUpload): Promise<void> {
    if (bytes > noted) await this.store.noteBytes(id, generation, bytes, touched);
  }
}
