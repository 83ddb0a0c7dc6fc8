/**
 * Batches of messages, and what became of them, as bytes. Numbers have fixed places; all texts of a batch follow as one text, and are cut
 * out of it by their lengths in UTF-16 units: one encoding and one decoding per batch instead of one per text.
 *
 * A text with half of a surrogate pair has no UTF-8, so such a batch travels as a structured clone.
 */
import type { Appended, Batch, NewMessage } from "../history/contract/history.ts";

/** In place of a length: there is no such text. */
const ABSENT = 0xffffffff;
/** In place of a length: this and what belongs to it are as in the entry before. */
const SAME = 0xfffffffe;
const UTF8_MAX_BYTES_PER_UNIT = 3;

/** Number of the call, number of messages, length of the check. */
const BATCH_HEAD_BYTES = 12;
/** Eight lengths and three numbers. */
const MESSAGE_BYTES = 8 * 4 + 3 * 8;
/** Number of the call, number of results. */
const RESULTS_HEAD_BYTES = 8;
/** Two numbers, flags and two lengths. */
const RESULT_BYTES = 2 * 8 + 3 * 4;

const IS_DUPLICATE = 1;
const IS_REMOVED = 2;

export interface NumberedBatch {
  readonly nr: number;
  readonly batch: Batch;
  /** All texts, in the order of their lengths. */
  readonly text: string;
}

export interface NumberedResults {
  readonly nr: number;
  readonly results: readonly Appended[];
}

/** undefined: it cannot be encoded this way. */
export function numbered(nr: number, batch: Batch): NumberedBatch | undefined {
  let text = batch.check;
  let last: NewMessage | undefined;
  for (const one of batch.messages) {
    if (!isSameStream(one, last)) text += one.spaceId + one.channel;
    text += `${one.from}${one.metadataJson ?? ""}${one.dataJson}${one.connection ?? ""}${one.id ?? ""}${one.idScope}`;
    last = one;
  }
  return text.isWellFormed() ? { nr, batch, text } : undefined;
}

export const maxBytesOfBatch = ({ batch, text }: NumberedBatch): number =>
  BATCH_HEAD_BYTES + batch.messages.length * MESSAGE_BYTES + text.length * UTF8_MAX_BYTES_PER_UNIT;

/** Returns where it ends. */
export function writeBatch({ nr, batch, text }: NumberedBatch, into: Buffer, from: number): number {
  const { check, messages } = batch;
  const view = viewOf(into);
  view.setUint32(from, nr, true);
  view.setUint32(from + 4, messages.length, true);
  view.setUint32(from + 8, check.length, true);
  let at = from + BATCH_HEAD_BYTES;
  let last: NewMessage | undefined;
  for (const one of messages) {
    const isSame = isSameStream(one, last);
    view.setUint32(at, isSame ? SAME : one.spaceId.length, true);
    view.setUint32(at + 4, isSame ? 0 : one.channel.length, true);
    view.setUint32(at + 8, one.from.length, true);
    view.setUint32(at + 12, one.metadataJson === undefined ? ABSENT : one.metadataJson.length, true);
    view.setUint32(at + 16, one.dataJson.length, true);
    view.setUint32(at + 20, one.connection === undefined ? ABSENT : one.connection.length, true);
    view.setUint32(at + 24, one.id === undefined ? ABSENT : one.id.length, true);
    view.setUint32(at + 28, one.idScope.length, true);
    view.setFloat64(at + 32, one.keep.messages, true);
    view.setFloat64(at + 40, one.keep.seconds, true);
    view.setFloat64(at + 48, one.bytes, true);
    at += MESSAGE_BYTES;
    last = one;
  }
  return at + into.write(text, at);
}

/** Throws for bytes that are no batch. */
export function readBatch(payload: Buffer): { readonly nr: number; readonly batch: Batch } {
  const view = viewOf(payload);
  const nr = view.getUint32(0, true);
  const count = view.getUint32(4, true);
  const texts = new Texts(payload, BATCH_HEAD_BYTES + count * MESSAGE_BYTES);
  const check = texts.take(view.getUint32(8, true));
  const messages: NewMessage[] = [];
  let last: NewMessage | undefined;
  for (let at = BATCH_HEAD_BYTES; messages.length < count; at += MESSAGE_BYTES) {
    const spaceLength = view.getUint32(at, true);
    if (spaceLength === SAME && last === undefined) throw new BadBatch("its first message refers to an earlier one");
    const isSame = spaceLength === SAME && last !== undefined;
    last = {
      spaceId: (isSame ? last?.spaceId : texts.take(spaceLength)) as NewMessage["spaceId"],
      channel: (isSame ? last?.channel : texts.take(view.getUint32(at + 4, true))) as string,
      keep: { messages: view.getFloat64(at + 32, true), seconds: view.getFloat64(at + 40, true) },
      from: texts.take(view.getUint32(at + 8, true)),
      metadataJson: texts.takeOrNone(view.getUint32(at + 12, true)),
      dataJson: texts.take(view.getUint32(at + 16, true)),
      connection: texts.takeOrNone(view.getUint32(at + 20, true)),
      id: texts.takeOrNone(view.getUint32(at + 24, true)),
      idScope: texts.take(view.getUint32(at + 28, true)),
      bytes: view.getFloat64(at + 48, true),
    };
    messages.push(last);
  }
  texts.end();
  return { nr, batch: { check, messages } };
}

const isSameStream = (one: NewMessage, last: NewMessage | undefined): boolean =>
  last !== undefined && one.channel === last.channel && one.spaceId === last.spaceId;

const textOfResults = (results: readonly Appended[]): string => {
  let text = "";
  let last: Appended | undefined;
  for (const one of results) {
    if (one.epoch !== last?.epoch) text += one.epoch;
    if (one.check !== last?.check) text += one.check;
    last = one;
  }
  return text;
};

/** Epochs and checks are short. */
export const maxBytesOfResults = ({ results }: NumberedResults): number => {
  let bytes = RESULTS_HEAD_BYTES + results.length * RESULT_BYTES;
  for (const { epoch, check } of results) bytes += (epoch.length + check.length) * UTF8_MAX_BYTES_PER_UNIT;
  return bytes;
};

/** Returns where it ends. */
export function writeResults({ nr, results }: NumberedResults, into: Buffer, from: number): number {
  const view = viewOf(into);
  view.setUint32(from, nr, true);
  view.setUint32(from + 4, results.length, true);
  let at = from + RESULTS_HEAD_BYTES;
  let last: Appended | undefined;
  for (const one of results) {
    view.setFloat64(at, one.offset, true);
    view.setFloat64(at + 8, one.time, true);
    view.setUint32(at + 16, (one.isDuplicate ? IS_DUPLICATE : 0) | (one.isRemoved ? IS_REMOVED : 0), true);
    view.setUint32(at + 20, one.epoch === last?.epoch ? SAME : one.epoch.length, true);
    view.setUint32(at + 24, one.check === last?.check ? SAME : one.check.length, true);
    at += RESULT_BYTES;
    last = one;
  }
  return at + into.write(textOfResults(results), at);
}

/** Throws for bytes that are no results. */
export function readResults(payload: Buffer): NumberedResults {
  const view = viewOf(payload);
  const nr = view.getUint32(0, true);
  const count = view.getUint32(4, true);
  const texts = new Texts(payload, RESULTS_HEAD_BYTES + count * RESULT_BYTES);
  const results: Appended[] = [];
  let epoch = "";
  let check = "";
  for (let at = RESULTS_HEAD_BYTES; results.length < count; at += RESULT_BYTES) {
    const flags = view.getUint32(at + 16, true);
    const [epochLength, checkLength] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
    if (epochLength !== SAME) epoch = texts.take(epochLength);
    if (checkLength !== SAME) check = texts.take(checkLength);
    const one = { epoch, offset: view.getFloat64(at, true), check, time: view.getFloat64(at + 8, true) };
    const isDuplicate = (flags & IS_DUPLICATE) !== 0;
    results.push((flags & IS_REMOVED) === 0 ? { ...one, isDuplicate } : { ...one, isDuplicate, isRemoved: true });
  }
  texts.end();
  return { nr, results };
}

class BadBatch extends Error {}

/** Cuts texts out of one text. */
class Texts {
  private readonly all: string;
  private at = 0;

  /** The text begins there in the payload, and ends with it. */
  constructor(payload: Buffer, from: number) {
    if (from > payload.length) throw new BadBatch(`a batch of ${payload.length} bytes has entries up to ${from}`);
    this.all = payload.toString("utf8", from);
  }

  take(length: number): string {
    const from = this.at;
    this.at += length;
    if (this.at > this.all.length) throw new BadBatch(`a text of ${length} units is longer than the rest of its batch`);
    return this.all.slice(from, this.at);
  }

  takeOrNone(length: number): string | undefined {
    return length === ABSENT ? undefined : this.take(length);
  }

  end(): void {
    if (this.at !== this.all.length) throw new BadBatch(`a batch has ${this.all.length - this.at} units too many`);
  }
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length);
