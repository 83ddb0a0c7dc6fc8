/**
 * What a connection sends while the store has not answered for its earlier messages waits here, so that its frames reach each
 * receiver in the order sent (protocol 4). Later messages of the same channel need not wait: their stream keeps them in order.
 */
import type { Connection } from "./connection.ts";
import { BACKLOG_MAX_BYTES, BACKLOG_MAX_FRAMES } from "./limits.ts";

interface PutOff {
  readonly bytes: number;
  readonly run: () => void;
  /** Set for a message of a channel with history. */
  readonly storesTo: string | undefined;
}

/** Bound: BACKLOG_MAX_FRAMES and BACKLOG_MAX_BYTES per connection. */
export interface Backlog {
  readonly frames: PutOff[];
  bytes: number;
}

/** What the frame takes beside its data. */
const FRAME_BYTES = 256;

/** Returns false if too much waits already. */
export function putOff(connection: Connection, dataBytes: number, run: () => void, storesTo?: string): boolean {
  const { withExtras } = connection;
  withExtras.backlog ??= { frames: [], bytes: 0 };
  const { backlog } = withExtras;
  const bytes = dataBytes + FRAME_BYTES;
  if (backlog.frames.length >= BACKLOG_MAX_FRAMES || backlog.bytes + bytes > BACKLOG_MAX_BYTES) return false;
  backlog.frames.push({ bytes, run, storesTo });
  backlog.bytes += bytes;
  return true;
}

/** Whether a message of this channel with history may go to the store now. `keepsOrder`: the store answers in the order of calls. */
export const mayStore = (connection: Connection, channel: string, keepsOrder: boolean): boolean =>
  !connection.extras?.backlog && mayFollow(connection, channel, keepsOrder);

/** Whether the store of history has not answered for a message of this connection. */
export const hasUncommitted = ({ extras }: Connection): boolean => extras !== undefined && extras.uncommitted > 0;

const mayFollow = (connection: Connection, channel: string, keepsOrder: boolean): boolean =>
  !hasUncommitted(connection) || keepsOrder || connection.extras?.uncommittedIn === channel;

/** One message of this connection was delivered, or has failed: what waited for it goes on. */
export function committed(connection: Connection, keepsOrder: boolean): void {
  const { withExtras } = connection;
  withExtras.uncommitted--;
  for (let next = takeNext(connection, keepsOrder); next; next = takeNext(connection, keepsOrder)) next.run();
  if (withExtras.uncommitted > 0 || withExtras.backlog) return;
  withExtras.uncommittedIn = undefined;
  const { whenCommitted } = withExtras;
  withExtras.whenCommitted = undefined;
  for (const run of whenCommitted ?? []) run();
}

function takeNext(connection: Connection, keepsOrder: boolean): PutOff | undefined {
  const { withExtras } = connection;
  const { backlog } = withExtras;
  const next = backlog?.frames[0];
  if (!backlog || !next) return undefined;
  const isNext =
    next.storesTo === undefined ? !hasUncommitted(connection) : mayFollow(connection, next.storesTo, keepsOrder);
  if (!isNext) return undefined;
  backlog.frames.shift();
  backlog.bytes -= next.bytes;
  if (backlog.frames.length === 0) withExtras.backlog = undefined;
  return next;
}
