/** DELETE: the stream is gone, and its name is free again when it has no forks. A channel with history begins anew. */
import { spaceOf } from "../../../base/ids.ts";
import { Problem } from "../../../protocol/codes.ts";
import type { CreatedStreams, Kept } from "../../../realtime/streams/created.ts";
import type { Streams } from "../../../realtime/streams/streams.ts";
import type { Call } from "../../request/call.ts";
import type { AppAudit } from "../../shared/audit.ts";
import { inHistory } from "../../shared/history-pages.ts";
import type { Caller } from "../caller.ts";

interface RemoveParts {
  readonly created: CreatedStreams;
  readonly streams: Pick<Streams, "remove">;
  readonly audit: AppAudit;
}

export async function removeStream(
  { created, streams, audit }: RemoveParts,
  call: Call,
  { app, key }: Caller,
  channel: string,
  kept: Kept,
): Promise<Response> {
  if (kept.kind === "history") {
    await inHistory(streams.remove(spaceOf(app), channel));
    audit(call, key.id, { what: "history deleted", on: channel, app });
    return new Response(null, { status: 204 });
  }
  const removed = await inHistory(created.delete(app, channel));
  if (removed === "gone") throw new Problem("stream_gone");
  if (removed === "not found") throw new Problem("stream_not_found");
  audit(call, key.id, { what: "stream deleted", on: channel, app });
  return new Response(null, { status: 204 });
}
