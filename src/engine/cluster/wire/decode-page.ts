/** Reads which active channels another node asks for. Untrusted, like the text it is in. */
import { PATTERNS_MAX } from "../../../protocol/limits.ts";
import { parseGlob } from "../../../protocol/patterns/glob.ts";
import { Scope } from "../../../protocol/patterns/scope.ts";
import type { ChannelsPage } from "../../engine.ts";
import { isCount, isText } from "./decode-entries.ts";

/** As long as a query of REST may be. */
const QUERY_TEXT_MAX_CHARS = 8192;
/** More than REST returns at once. */
const CHANNELS_PAGE_MAX = 4096;

const isQueryText = (value: unknown): value is string => isText(value) && value.length <= QUERY_TEXT_MAX_CHARS;

export function channelsPageOf({
  prefix,
  after,
  limit,
  scope,
}: Readonly<Record<string, unknown>>): ChannelsPage | undefined {
  if (!isQueryText(prefix) || !(after === undefined || isQueryText(after))) return undefined;
  if (!isCount(limit) || limit === 0 || limit > CHANNELS_PAGE_MAX) return undefined;
  if (!Array.isArray(scope) || scope.length > PATTERNS_MAX) return undefined;
  const globs = scope
    .flatMap((pattern) => (isText(pattern) ? [parseGlob(pattern)] : []))
    .filter((glob) => typeof glob !== "string");
  // A pattern that cannot be read must not make the list shorter than it is.
  return globs.length === scope.length ? { prefix, after, limit, scope: new Scope(globs) } : undefined;
}
