/**
 * What a connection sends while the store has not answered for its earlier messages waits here, so that its frames reach each
 * receiver in the order sent (protocol 4). Later messages of the same channel need not wait: their stream keeps them in order.
 */
import type { Connection } from "../connection.ts";
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
  connection.backlog ??= { frames: [], bytes: 0 };
  const { backlog } = connection;
  const bytes = dataBytes + FRAME_BYTES;
  if (backlog.frames.length >= BACKLOG_MAX_FRAMES || backlog.bytes + bytes > BACKLOG_MAX_BYTES) return false;
  backlog.frames.push({ bytes, run, storesTo });
  backlog.bytes += bytes;
  return true;
}

/** Whether a message of this channel with history may go to the store now. `keepsOrder`: the store answers in the order of calls. */
export const mayStore = (connection: Connection, channel: string, keepsOrder: boolean): boolean =>
  !connection.backlog && mayFollow(connection, channel, keepsOrder);

const mayFollow = ({ uncommitted, uncommittedIn }: Connection, channel: string, keepsOrder: boolean): boolean =>
  uncommitted === 0 || keepsOrder || uncommittedIn === channel;

/** One message of this connection was delivered, or has failed: what waited for it goes on. */
export function committed(connection: Connection, keepsOrder: boolean): void {
  connection.uncommitted--;
  for (let next = takeNext(connection, keepsOrder); next; next = takeNext(connection, keepsOrder)) next.run();
  if (connection.uncommitted > 0 || connection.backlog) return;
  connection.uncommittedIn = undefined;
  const { whenCommitted } = connection;
  connection.whenCommitted = undefined;
  for (const run of whenCommitted ?? []) run();
}

function takeNext(connection: Connection, keepsOrder: boolean): PutOff | undefined {
  const { backlog, uncommitted } = connection;
  const next = backlog?.frames[0];
  if (!backlog || !next) return undefined;
  const isNext = next.storesTo === undefined ? uncommitted === 0 : mayFollow(connection, next.storesTo, keepsOrder);
  if (!isNext) return undefined;
  backlog.frames.shift();
  backlog.bytes -= next.bytes;
  if (backlog.frames.length === 0) connection.backlog = undefined;
  return next;
}
