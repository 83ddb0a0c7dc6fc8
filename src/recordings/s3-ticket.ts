/**
 * The ticket of a multipart upload: its id, and after takeovers the part numbers that do not count.
 *
 * S3 has no fencing: a part that an overtaken writer is sending may arrive at any time, and replaces any other part of that number. A writer
 * sends its parts in order and one at a time (storage.ts), so only the number after the last part that has arrived can still come from
 * it. The new writer declares that number void and continues with the next.
 */
export interface S3Ticket {
  readonly uploadId: string;
  readonly void: readonly number[];
}

export function parseTicket(ticket: string): S3Ticket {
  if (!ticket.startsWith("{")) return { uploadId: ticket, void: [] };
  const { uploadId, void: numbers } = JSON.parse(ticket) as { uploadId: string; void: number[] };
  return { uploadId, void: numbers };
}

export function formatTicket({ uploadId, void: numbers }: S3Ticket): string {
  return numbers.length === 0 ? uploadId : JSON.stringify({ uploadId, void: numbers });
}

/** The number of the next part, given all parts that have arrived, void or not. */
export const nextNumber = (ticket: S3Ticket, arrived: readonly { readonly number: number }[]): number =>
  Math.max(0, ...ticket.void, ...arrived.map(({ number }) => number)) + 1;
