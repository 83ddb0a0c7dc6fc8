/** The body of a write. */
import { Problem } from "../../../protocol/codes.ts";
import type { Call } from "../../request/call.ts";
import { readBytes } from "../../request/input.ts";
import { DISCARD_MAX_BYTES, DISCARD_MAX_MS, STREAM_BODY_MAX_BYTES } from "../limits.ts";

export async function bodyIn({ request }: Call): Promise<Uint8Array> {
  try {
    return await readBytes(request, STREAM_BODY_MAX_BYTES);
  } catch (error) {
    if (error instanceof Problem) await discard(request);
    throw error;
  }
}

/** A client that is still sending would see a broken connection instead of the refusal, and public clients repeat a write after that. */
async function discard({ headers, body }: Request): Promise<void> {
  if (!body || body.locked || !(Number(headers.get("content-length")) <= DISCARD_MAX_BYTES)) return;
  const untilMs = performance.now() + DISCARD_MAX_MS;
  try {
    for await (const _ of body) if (performance.now() >= untilMs) return;
  } catch {
    // The client is gone: nothing is left to discard.
  }
}
