/**
 * The ticket of a multipart upload: its id, and after takeovers what earlier writers may still send, which does not count.
 *
 * S3 has no fencing: what an overtaken writer is sending may arrive at any time. A writer sends one thing at a time (storage.ts). If it is a part, it
 * has the number after the last part that has arrived: the new writer declares that number void and continues with the next. If it is a
 * piece (pieces.ts), it begins where the bytes ended that had arrived: from there on, pieces of earlier generations do not count.
 */
export interface S3Ticket {
  readonly uploadId: string;
  readonly void: readonly number[];
  readonly cuts: readonly Cut[];
}

/** From this byte on, only pieces of this generation or a later one count. */
export interface Cut {
  readonly at: number;
  readonly generation: number;
}

export function parseTicket(ticket: string): S3Ticket {
  if (!ticket.startsWith("{")) return { uploadId: ticket, void: [], cuts: [] };
  const parsed = JSON.parse(ticket) as { uploadId: string; void: number[]; cuts?: Cut[] };
  return { uploadId: parsed.uploadId, void: parsed.void, cuts: parsed.cuts ?? [] };
}

export function formatTicket({ uploadId, void: numbers, cuts }: S3Ticket): string {
  return numbers.length === 0 ? uploadId : JSON.stringify({ uploadId, void: numbers, cuts });
}

/** The number of the next part, given all parts that have arrived, void or not. */
export const nextNumber = (ticket: S3Ticket, arrived: readonly { readonly number: number }[]): number =>
  Math.max(0, ...ticket.void, ...arrived.map(({ number }) => number)) + 1;
