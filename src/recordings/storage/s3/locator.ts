/**
 * The locator of a multipart upload: its id, and after takeovers what earlier writers may still send, which does not count.
 *
 * S3 has no fencing: what an overtaken writer is sending may arrive at any time. A writer sends one thing at a time (storage.ts). If it is a part, it
 * has the number after the last part that has arrived: the new writer declares that number void and continues with the next. If it is a
 * piece (pieces.ts), it begins where the bytes ended that had arrived: from there on, pieces of earlier generations do not count.
 */
export interface S3Locator {
  readonly uploadId: string;
  readonly void: readonly number[];
  readonly cuts: readonly Cut[];
}

/** From this byte on, only pieces of this generation or a later one count. */
export interface Cut {
  readonly at: number;
  readonly generation: number;
}

export function parseLocator(locator: string): S3Locator {
  if (!locator.startsWith("{")) return { uploadId: locator, void: [], cuts: [] };
  const parsed = JSON.parse(locator) as { uploadId: string; void: number[]; cuts?: Cut[] };
  return { uploadId: parsed.uploadId, void: parsed.void, cuts: parsed.cuts ?? [] };
}

export function formatLocator({ uploadId, void: numbers, cuts }: S3Locator): string {
  return numbers.length === 0 ? uploadId : JSON.stringify({ uploadId, void: numbers, cuts });
}

/** The number of the next part, given all parts that have arrived, void or not. */
export const nextNumber = (locator: S3Locator, arrived: readonly { readonly number: number }[]): number =>
  Math.max(0, ...locator.void, ...arrived.map(({ number }) => number)) + 1;
