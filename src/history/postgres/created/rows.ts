/** Decodes what `history_created_json` and the functions with it return. */
import type { CreatedPage, CreatedStream } from "../../contract/created-streams.ts";
import type { StreamState } from "../../contract/history.ts";
import { type PageJson, pageOf } from "../server/page.ts";

export interface StreamJson extends StreamState {
  readonly contentType: string;
  readonly ttlMs: number | null;
  readonly expiresAtMs: number | null;
  readonly isClosed: boolean;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly endsMs: number;
  readonly bytes: number;
  readonly lineage: CreatedStream["lineage"];
}

export function streamOf({ contentType, ttlMs, expiresAtMs, ...rest }: StreamJson): CreatedStream {
  const ttlSeconds = ttlMs === null ? undefined : ttlMs / 1000;
  return { ...rest, config: { contentType, ttlSeconds, expiresAtMs: expiresAtMs ?? undefined } };
}

interface ReadJson {
  readonly stream: StreamJson;
  readonly page: PageJson | null;
}

type Read = Omit<CreatedPage, "page"> & { readonly page: CreatedPage["page"] | undefined };

/** `json`: what `history_created_read` has returned. */
export function readOf(json: string | null | undefined): Read | "gone" | undefined {
  if (!json) return undefined;
  const answer = JSON.parse(json) as ReadJson | "gone";
  if (answer === "gone") return "gone";
  return { stream: streamOf(answer.stream), page: answer.page ? pageOf(answer.page) : undefined };
}
