/** Calls of the application API that the control plane offers too: the codes of their problems, and their cursors. */
import { type Code, Problem } from "../../protocol/codes.ts";

/** The application API has codes and texts of its own, which the control plane's (protocol 8) replace. */
const REPLACED: Partial<Readonly<Record<Code, { readonly code: Code; readonly message?: string }>>> = {
  room_not_found: { code: "not_found", message: "This application has no room with this name." },
  room_already_exists: { code: "conflict" },
  room_limit_reached: { code: "conflict" },
  meeting_not_found: { code: "not_found", message: "This application has no meeting with this id." },
  participant_not_found: { code: "not_found" },
  recording_not_found: { code: "not_found", message: "This application has no recording with this id." },
  webhook_not_found: { code: "not_found" },
  upload_busy: { code: "conflict" },
};

/** Does the work of a call of the application API, with the problems of the control plane. */
export async function inControlPlane<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.more.details?.[0]?.field === "endId")
      throw new Problem("invalid_request", `after: ${NO_CURSOR}`, undefined, {
        details: [{ field: "after", message: NO_CURSOR }],
      });
    const replaced = REPLACED[error.code];
    if (!replaced) throw error;
    throw new Problem(replaced.code, replaced.message ?? error.message, error.retryAfterSeconds, error.more);
  }
}

/** The `after` of a list whose cursors are ids. */
export const ID_FORM = /^[0-9a-f]{24}$/;
export const NO_CURSOR = "is not the next of an earlier page";
