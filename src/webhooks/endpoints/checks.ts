/** What an endpoint may be, beyond the form of its fields: its address, its headers, the channels of what it asks for. */
import { Problem } from "../../protocol/codes.ts";
import { asksFor, isOfChannels } from "../../protocol/webhook-events.ts";
import type { WebhookKind, WebhookRow } from "../../store/contract/webhooks.ts";
import { EVENT_TYPES } from "../events/types.ts";
import { HEADER_NAME_MAX_CHARS, HEADER_VALUE_MAX_CHARS, HEADERS_MAX } from "../limits.ts";
import type { Headers } from "./seals.ts";

/** Why the service does not call this address, as far as its text says; undefined: it may. The rest is checked with every attempt. */
export type AddressCheck = (url: URL, kind: WebhookKind) => string | undefined;

export function refuse(field: string, message: string): never {
  throw new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
}

export function checkAddress(check: AddressCheck, text: string, kind: WebhookKind): void {
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    refuse("url", "must not contain a user or password; send credentials in a header");
  const why = check(url, kind);
  if (why !== undefined) refuse("url", why);
}

/** Types of which an endpoint gets those of some channels have to say which. */
export function checkChannels({ events, channelPatterns }: Pick<WebhookRow, "events" | "channelPatterns">): void {
  if (channelPatterns !== null && channelPatterns.length > 0) return;
  const types = EVENT_TYPES.filter((type) => isOfChannels(type) && asksFor(events, type));
  if (types.length > 0)
    refuse(
      "channelPatterns",
      `is missing; ${types.join(", ")} need it: the channels to watch, such as ["chat/*"], or ["**"] for all`,
    );
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Those that the service or the connection decides on (RFC 9110 7.6.1). */
const FORBIDDEN =
  /^(?:host|content-.*|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|webhook-.*)$/i;

/** Why an endpoint may not have a header of this name; undefined: it may. */
export function whyNoHeaderName(name: string): string | undefined {
  if (name.length > HEADER_NAME_MAX_CHARS) return `a name must have at most ${HEADER_NAME_MAX_CHARS} characters`;
  if (!HEADER_NAME.test(name)) return "this is not the name of a header";
  if (FORBIDDEN.test(name))
    return "the service sets this header itself, or the connection does: Host, Content-*, Transfer-Encoding, Connection, Expect, Keep-Alive, Proxy-*, TE, Trailer, Upgrade and webhook-* cannot be set";
  return undefined;
}

export const isHeaderValue = (value: string): boolean =>
  value.length <= HEADER_VALUE_MAX_CHARS && /^[\x20-\x7e]+$/.test(value) && value.trim() === value;

/** What is shown in place of a value. Sent in an edit, it leaves the value as it is. */
export const HEADER_MASK = "***";

/** The headers after an edit: those that are named are set, null removes, others stay. */
export function editedHeaders(before: Headers, edits: Readonly<Record<string, string | null>>): Headers {
  const merged = new Map(Object.entries(before).map(([name, value]) => [name.toLowerCase(), { name, value }]));
  for (const [name, value] of Object.entries(edits)) {
    const key = name.toLowerCase();
    const old = merged.get(key);
    merged.delete(key);
    if (value === HEADER_MASK && old === undefined)
      refuse("headers", `${name}: ${HEADER_MASK} stands for the value that is kept, and there is none yet`);
    if (value !== null) merged.set(key, { name, value: value === HEADER_MASK && old ? old.value : value });
  }
  if (merged.size > HEADERS_MAX) refuse("headers", `an endpoint has at most ${HEADERS_MAX} headers`);
  return Object.fromEntries([...merged.values()].map(({ name, value }) => [name, value]));
}
