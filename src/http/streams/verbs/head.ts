/** HEAD: what a stream is, and where it ends. It is not renewed by that. */
import { Problem } from "../../../protocol/codes.ts";
import type { CreatedStreams, Kept } from "../../../realtime/streams/created.ts";
import { inHistory } from "../../shared/history-pages.ts";
import { endHeaders } from "../answers.ts";
import type { Caller } from "../caller.ts";

export async function head(created: CreatedStreams, { app }: Caller, channel: string, kept: Kept): Promise<Response> {
  const found = await inHistory(created.read(app, channel, kept, { limit: 0, maxBytes: 0 }));
  if (found === "gone") throw new Problem("stream_gone");
  if (!found) throw new Problem("stream_not_found");
  const { epoch, top, topCheck } = found.page.state;
  const { ttlSeconds, expiresAtMs, contentType = "application/json" } = found.stream?.config ?? {};
  return new Response(null, {
    headers: {
      ...endHeaders({ epoch, offset: top, check: topCheck }, found.stream?.isClosed === true),
      "Content-Type": contentType,
      ...(ttlSeconds !== undefined && { "Stream-TTL": String(ttlSeconds) }),
      ...(expiresAtMs !== undefined && { "Stream-Expires-At": new Date(expiresAtMs).toISOString() }),
    },
  });
}
