/**
 * Where a message is in the stream of a channel with history: `epoch.offset.check`. Clients keep positions as opaque strings. The
 * epoch changes whenever offsets could come to mean something else; `check` is a random value stored with the message, so that a
 * store that lost its newest messages and gave their offsets to others is noticed.
 */
export interface Position {
  readonly epoch: string;
  /** The first message of a stream has offset 1; 0 is the position before it. */
  readonly offset: number;
  readonly check: string;
}

/** The check of offset 0, where there is no message. */
export const NO_CHECK = "0";
/** An epoch that no stream has: that of a message whose stream is not known any more. */
export const NO_EPOCH = "0";

const POSITION = /^([a-z0-9]{1,16})\.(0|[1-9][0-9]{0,14})\.([a-z0-9]{1,16})$/;

let last: Position = { epoch: "", offset: -1, check: "" };
let lastText = "";

/** A message and its ack are written one after the other, so the last text is remembered. */
export function positionText(position: Position): string {
  const { epoch, offset, check } = position;
  if (offset === last.offset && check === last.check && epoch === last.epoch) return lastText;
  last = position;
  lastText = `${epoch}.${offset}.${check}`;
  return lastText;
}

/** `undefined`: not a position that this service has made. */
export function parsePosition(text: string): Position | undefined {
  const [, epoch, offset, check] = POSITION.exec(text) ?? [];
  if (epoch === undefined || offset === undefined || check === undefined) return undefined;
  return { epoch, offset: Number(offset), check };
}
