/** Headers of writes and creations. Those that ask for nothing possible are refused, but for `Stream-Closed`, which is only ever `true`. */
import type { ForkPoint, Producer } from "../../history/contract/created-streams.ts";
import { Problem } from "../../protocol/codes.ts";
import { CONTENT_TYPE_MAX_CHARS, PRODUCER_ID_MAX_CHARS, STREAM_SEQ_MAX_CHARS, TTL_MAX_SECONDS } from "./limits.ts";
import { streamOfPath } from "./names.ts";
import { placeOf } from "./read-query.ts";

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[\x20-\x7e\t]*)?$/;
const WHOLE = /^(?:0|[1-9]\d{0,15})$/;
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

const refused = (message: string): Problem => new Problem("invalid_request", message);

export const closes = (headers: Headers): boolean => headers.get("stream-closed")?.trim().toLowerCase() === "true";

/** In lower case. `undefined`: the request has none. */
export function contentTypeIn(headers: Headers): string | undefined {
  const text = headers.get("content-type")?.trim();
  if (!text) return undefined;
  if (text.length > CONTENT_TYPE_MAX_CHARS || !MEDIA_TYPE.test(text))
    throw refused(`Content-Type must be a media type of at most ${CONTENT_TYPE_MAX_CHARS} characters.`);
  return text.toLowerCase();
}

/** Up to 2^53 - 1, which JavaScript can count to. */
function whole(name: string, text: string): number {
  const value = WHOLE.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value))
    throw refused(`${name} must be a whole number, written without sign or zeros in front.`);
  return value;
}

export function producerIn(headers: Headers, owner: string): Producer | undefined {
  const id = headers.get("producer-id");
  const epoch = headers.get("producer-epoch");
  const seq = headers.get("producer-seq");
  if (id === null && epoch === null && seq === null) return undefined;
  if (id === null || epoch === null || seq === null)
    throw refused("Producer-Id, Producer-Epoch and Producer-Seq belong together.");
  if (id === "" || id.length > PRODUCER_ID_MAX_CHARS)
    throw refused(`Producer-Id must have 1 to ${PRODUCER_ID_MAX_CHARS} characters.`);
  return { owner, id, epoch: whole("Producer-Epoch", epoch), seq: whole("Producer-Seq", seq) };
}

export function streamSeqIn(headers: Headers): string | undefined {
  const seq = headers.get("stream-seq");
  if (seq === null) return undefined;
  if (seq === "" || seq.length > STREAM_SEQ_MAX_CHARS)
    throw refused(`Stream-Seq must have 1 to ${STREAM_SEQ_MAX_CHARS} characters.`);
  return seq;
}

export interface Lifetime {
  readonly ttlSeconds: number | undefined;
  /** Unix ms. */
  readonly expiresAtMs: number | undefined;
}

export function lifetimeIn(headers: Headers): Lifetime {
  const ttl = headers.get("stream-ttl");
  const expires = headers.get("stream-expires-at");
  if (ttl !== null && expires !== null) throw refused("Send Stream-TTL or Stream-Expires-At, not both.");
  const ttlSeconds = ttl === null ? undefined : whole("Stream-TTL", ttl);
  if (ttlSeconds !== undefined && ttlSeconds > TTL_MAX_SECONDS)
    throw refused(`Stream-TTL must be at most ${TTL_MAX_SECONDS} seconds.`);
  const expiresAtMs = expires === null ? undefined : RFC_3339.test(expires) ? Date.parse(expires) : Number.NaN;
  if (Number.isNaN(expiresAtMs))
    throw refused("Stream-Expires-At must be a time as in RFC 3339: 2027-01-31T12:00:00Z.");
  return { ttlSeconds, expiresAtMs };
}

export function forkIn(headers: Headers): ForkPoint | undefined {
  const source = headers.get("stream-forked-from");
  const offset = headers.get("stream-fork-offset");
  const more = headers.get("stream-fork-sub-offset");
  if (source === null) {
    if (offset === null && more === null) return undefined;
    throw refused("Stream-Fork-Offset and Stream-Fork-Sub-Offset need Stream-Forked-From.");
  }
  const at = offset === null ? "now" : placeOf(offset, "Stream-Fork-Offset");
  return {
    source: streamOfPath(source),
    at: at === "now" ? "end" : at,
    more: more === null ? 0 : whole("Stream-Fork-Sub-Offset", more),
  };
}
