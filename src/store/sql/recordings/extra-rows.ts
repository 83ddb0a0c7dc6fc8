/** Rows of recording_extras, in the transactions that complete or remove what they belong to. */
import type { SQL } from "bun";
import { type DbRow, numberOrNull } from "../../engines/rows.ts";

/** What a recording notes of them. */
export interface ExtrasNoted {
  readonly bytes: number;
  readonly hasThumbnail: boolean;
  readonly speechMs: number | null;
}

/** In the transaction that has removed the upload, so that none are written after it. */
export async function extrasOf(tx: SQL, id: string): Promise<ExtrasNoted> {
  const rows: DbRow[] = await tx`SELECT thumbnail, speech, speech_ms FROM recording_extras WHERE id = ${id}`;
  const { thumbnail, speech, speech_ms } = rows[0] ?? {};
  return {
    bytes: String(thumbnail ?? "").length + String(speech ?? "").length,
    hasThumbnail: thumbnail != null,
    speechMs: numberOrNull(speech_ms),
  };
}

export async function removeExtras(tx: SQL, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx`DELETE FROM recording_extras WHERE id IN ${tx(ids)}`;
}
