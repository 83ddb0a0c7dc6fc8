/**
 * The ticket of a multipart upload: its id, and after a takeover the numbers of parts that do not count.
 *
 * S3 knows no fencing: a part that an overtaken writer has under way may land at any time, in place of any other of its number. A
 * writer has at most one part under way (storage.ts), and sends them in order. So the number behind the last that has landed is
 * the only one that may still come from it: whoever takes over declares that number void and goes on behind it.
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

/** The number of the next part, given all that have landed, whether they count or not. */
export const nextNumber = (ticket: S3Ticket, landed: readonly { readonly number: number }[]): number =>
  Math.max(0, ...ticket.void, ...landed.map(({ number }) => number)) + 1;
