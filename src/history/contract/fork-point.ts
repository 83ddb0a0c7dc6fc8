/** Where a fork begins, in messages of its source; the same for all stores. */
import type { Position } from "../../protocol/position.ts";
import { bytesOf, dataFormOf, messagesOf } from "../../protocol/streams/data.ts";
import type { CreatedStream, ForkPoint } from "./created-streams.ts";

/** The last offset of the source that its position names, if the check there is `checkAt`'s; `undefined`: it is no position of the source. */
export function baseOf(
  { at }: ForkPoint,
  { epoch, first, top, lineage }: Pick<CreatedStream, "epoch" | "first" | "top" | "lineage">,
  checkAt: (offset: number) => string | undefined,
): number | undefined {
  if (at === "start") return first - 1;
  if (at === "end") return top;
  return isPlaceOf(at, { epoch, first, top, lineage }) && checkAt(at.offset) === at.check ? at.offset : undefined;
}

/** Whether the epoch and the offset are of this stream; its check is still to be compared. */
export function isPlaceOf(
  { epoch, offset }: Position,
  stream: Pick<CreatedStream, "epoch" | "first" | "top" | "lineage">,
): boolean {
  if (offset < stream.first - 1 || offset > stream.top) return false;
  return epoch === stream.epoch || stream.lineage.some(([earlier, upTo]) => earlier === epoch && offset <= upTo);
}

export interface Cut {
  /** How many whole messages behind the base are copied. */
  readonly whole: number;
  /** Data of the messages that follow them: the first bytes of the message at which the fork begins. */
  readonly partial: readonly string[];
}

/** `behind`: the data of messages behind the base, as far as they are needed. `undefined`: there is not that much. */
export function cutOf(more: number, contentType: string, behind: Iterable<string>): Cut | undefined {
  const form = dataFormOf(contentType);
  let left = more;
  let whole = 0;
  if (left === 0) return { whole, partial: [] };
  for (const dataJson of behind) {
    if (form === "json") left--;
    else {
      const bytes = bytesOf(dataJson, form);
      if (bytes.length > left) {
        const partial = messagesOf(bytes.subarray(0, left), form);
        return typeof partial === "string" ? undefined : { whole, partial };
      }
      left -= bytes.length;
    }
    whole++;
    if (left === 0) return { whole, partial: [] };
  }
  return undefined;
}

/** The epochs whose positions are positions of a fork that has its source's messages up to an offset. */
export const lineageOf = (
  { epoch, lineage }: Pick<CreatedStream, "epoch" | "lineage">,
  upTo: number,
): CreatedStream["lineage"] => [
  ...lineage.map(([earlier, end]) => [earlier, Math.min(end, upTo)] as const),
  [epoch, upTo] as const,
];

/** What a fork is of, as it was asked for: two creations of a fork agree if these are equal. */
export const forkText = ({ source, at, more }: ForkPoint): string =>
  JSON.stringify([source, typeof at === "string" ? at : [at.epoch, at.offset, at.check], more]);
