/** What an upload of a stay does not take: bytes after its time, and more than a part with one request. */
import { Problem } from "../../protocol/codes.ts";
import type { UploadRow } from "../../store/contract/recordings.ts";
import { STAY_PART_MAX_BYTES, STAY_UPLOADS_KEPT_MS } from "../budgets/limits.ts";

/** Throws if nothing is written to the upload any more. */
export function checkMayWrite(row: UploadRow, nowMs: number): void {
  const problem = closedBy(row, nowMs);
  if (problem) throw problem;
}

/** Why nothing is written to the upload any more, although it is open until the service finishes it. undefined: it may be written to. */
export function closedBy({ isClosed, stayEnded, finished }: UploadRow, nowMs: number): Problem | undefined {
  if (isClosed) return removed();
  const isOver = stayEnded !== undefined && stayEnded < nowMs - STAY_UPLOADS_KEPT_MS && finished === null;
  return isOver ? over() : undefined;
}

const removed = (): Problem =>
  new Problem(
    "action_not_permitted",
    "This person was removed from the meeting, so nothing more is recorded. What arrived is kept.",
  );

/** As when the service has finished it, which it does within a minute or two. */
const over = (): Problem =>
  new Problem(
    "upload_complete",
    `The stay ended more than ${STAY_UPLOADS_KEPT_MS / 60_000} minutes ago, so no more bytes are accepted. What arrived is completed.`,
  );

/** `offset`: how many bytes of the upload are held, if some of the body were taken. */
export const partTooLarge = (offset?: number): Problem =>
  new Problem(
    "body_too_large",
    `A request to an upload of a stay has at most ${STAY_PART_MAX_BYTES} bytes. Send several, with Content-Range.`,
    undefined,
    offset === undefined ? {} : { fields: { offset } },
  );
