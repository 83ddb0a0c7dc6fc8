/**
 * Recordings in an S3-compatible bucket:
 *
 *   recordings/<app>/<id>                     whole ones; an open upload is a multipart upload to this key
 *   uploads/<app>/<id>/<start>[.generation]   its last bytes, those from `start` on, while they are too few for a part of their own
 *   quarantine/<app>/<id>                     a note, without bytes: no recording belongs to that one since the note was written
 *   parley-storage.json                       whose storage this is
 *
 * A part is sent when it is full, so that all but the last have one size, as some services want it. The bytes behind the last
 * part become an object of their own whenever a writer stops; its key says behind how many bytes it belongs, so that one that
 * has become part of a part meanwhile is never counted again. No disk of ours is used, and any node can go on. What an overtaken
 * writer still sends is not counted: its part has a number that is void (s3-ticket.ts), its last bytes a lower generation.
 */
import type { S3Address } from "./s3-address.ts";
import { type Listed, type Part, S3Client, S3Refusal } from "./s3-client.ts";
import { formatTicket, nextNumber, parseTicket } from "./s3-ticket.ts";
import {
  checkedPlace,
  type Found,
  isObjectId,
  type LinkWanted,
  MARK_NAME,
  type Place,
  type Quarantined,
  type Storage,
  type Succession,
  type WriterLease,
} from "./storage.ts";

const MIB = 1024 * 1024;
/** Services take parts from 5 MiB on, and at most 10,000 of them. */
const PART_MIN_BYTES = 8 * MIB;
const PARTS_MAX = 9000;

/** The parts of an open upload. */
interface Parts {
  /** Those that count, in order. */
  readonly good: readonly Part[];
  readonly bytes: number;
  /** The number of the next one. */
  readonly next: number;
}

export class Bucket implements Storage {
  readonly name: string;
  private readonly client: S3Client;
  private readonly partBytes: number;
  private readonly prefix: string;

  constructor(address: S3Address, maxRecordingBytes: number, nowMs: () => number) {
    this.name = `the bucket ${address.bucket}${address.prefix === "" ? "" : ` (${address.prefix})`}`;
    this.client = new S3Client(address, nowMs);
    this.prefix = address.prefix;
    this.partBytes = Math.max(PART_MIN_BYTES, Math.ceil(maxRecordingBytes / PARTS_MAX / MIB) * MIB);
  }

  async check(): Promise<void> {
    await this.client.list(`${this.prefix}recordings/`).next();
  }

  async roomFor(): Promise<void> {}

  begin(app: string, id: string): Promise<string> {
    return this.client.createMultipart(this.whole({ app, id, ticket: "" }));
  }

  async held(place: Place): Promise<number> {
    const parts = await this.parts(place);
    if (!parts) return (await this.client.sizeOf(this.whole(place))) ?? 0;
    return parts.bytes + ((await this.lastBytes(place, parts.bytes))?.size ?? 0);
  }

  async append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>, lease: WriterLease): Promise<void> {
    const parts = await this.openParts(place);
    const { uploadId } = parseTicket(place.ticket);
    let { bytes: start, next: number } = parts;
    const buffer = new Uint8Array(this.partBytes);
    if (offset > start) buffer.set(await this.bytesBehind(place, start, offset - start));
    let filled = offset - start;
    let isKept = true;
    try {
      for await (const chunk of bytes) {
        for (let done = 0; done < chunk.length; ) {
          if (filled === this.partBytes) {
            await lease.confirm();
            await this.client.uploadPart(this.whole(place), uploadId, number++, buffer);
            start += filled;
            filled = 0;
          }
          const piece = chunk.subarray(done, done + this.partBytes - filled);
          buffer.set(piece, filled);
          filled += piece.length;
          done += piece.length;
          isKept = false;
        }
      }
    } finally {
      if (!isKept) {
        await lease.confirm();
        await this.client.put(this.tail(place, start, lease.generation), buffer.subarray(0, filled));
      }
    }
  }

  async takeOver(place: Place): Promise<Succession> {
    const parts = await this.parts(place);
    const { uploadId, void: numbers } = parseTicket(place.ticket);
    // Parts and last bytes of the earlier writer lie beside those that count, and go with them.
    const clear = async (): Promise<void> => undefined;
    return { ticket: parts ? formatTicket({ uploadId, void: [...numbers, parts.next] }) : place.ticket, clear };
  }

  async finish(place: Place, size: number): Promise<void> {
    try {
      await this.completeParts(place, size);
    } catch (error) {
      // Finished already, or by one that was overtaken and woke up: then these are the same bytes.
      if (!(await this.isFinished(place, size))) throw error;
    }
    await this.removeTails(place);
  }

  private async isFinished(place: Place, size: number): Promise<boolean> {
    return !(await this.parts(place)) && (await this.client.sizeOf(this.whole(place))) === size;
  }

  private async completeParts(place: Place, size: number): Promise<void> {
    const key = this.whole(place);
    const { uploadId } = parseTicket(place.ticket);
    const parts = await this.openParts(place);
    if (parts.bytes < size || parts.good.length === 0) {
      const missing = size - parts.bytes;
      const tail = missing > 0 ? await this.bytesBehind(place, parts.bytes, missing) : new Uint8Array();
      await this.client.uploadPart(key, uploadId, parts.next, new Uint8Array(tail));
    }
    const all = await this.openParts(place);
    if (all.bytes !== size) throw new Error("the parts do not have the size that their upload has");
    await this.client.completeMultipart(key, uploadId, all.good);
  }

  async remove(place: Place): Promise<void> {
    const key = this.whole(place);
    if (place.ticket !== "") await this.client.abortMultipart(key, parseTicket(place.ticket).uploadId);
    await this.client.delete(key);
    await this.removeTails(place);
  }

  async discard(place: Place): Promise<void> {
    if (place.ticket === "") await this.removeTails(place);
    else await this.client.abortMultipart(this.whole(place), parseTicket(place.ticket).uploadId);
  }

  head(place: Place, count: number): Promise<Uint8Array> {
    // A range of an empty object is an error, not empty.
    return this.client.get(this.whole(place), 0, count - 1).catch((error: unknown) => {
      if (error instanceof S3Refusal && error.status === 416) return new Uint8Array();
      throw error;
    });
  }

  async file(): Promise<undefined> {
    return undefined;
  }

  link(place: Place, { disposition, contentType, seconds }: LinkWanted): string {
    const query = {
      "response-content-disposition": disposition,
      "response-content-type": contentType,
      "response-cache-control": "private, no-store",
    };
    return this.client.link(this.whole(place), query, seconds);
  }

  async *contents(): AsyncGenerator<Found> {
    yield* this.outOfQuarantine();
    for await (const { key, modified } of this.client.list(`${this.prefix}uploads/`))
      for (const place of this.placeIn(key)) yield { place, isOpen: true, modifiedMs: modified };
    for await (const { key, uploadId, initiated } of this.client.openMultiparts(`${this.prefix}recordings/`))
      for (const place of this.placeIn(key))
        yield { place: { ...place, ticket: uploadId }, isOpen: true, modifiedMs: initiated };
  }

  /** Both lists are in the order of their keys: one walk beside the other, and neither is held in memory. */
  private async *outOfQuarantine(): AsyncGenerator<Found> {
    const notes = this.quarantined();
    let note = await notes.next();
    for await (const { key, modified } of this.client.list(`${this.prefix}recordings/`)) {
      for (const place of this.placeIn(key)) {
        while (!note.done && nameOf(note.value.place) < nameOf(place)) note = await notes.next();
        if (note.done || nameOf(note.value.place) !== nameOf(place))
          yield { place, isOpen: false, modifiedMs: modified };
      }
    }
  }

  async quarantine(place: Place): Promise<void> {
    await this.client.put(this.note(place), new Uint8Array());
  }

  async *quarantined(): AsyncGenerator<Quarantined> {
    for await (const { key, modified } of this.client.list(`${this.prefix}quarantine/`))
      for (const place of this.placeIn(key)) yield { place, sinceMs: modified };
  }

  async restore({ place }: Quarantined): Promise<void> {
    await this.client.delete(this.note(place));
  }

  async purge({ place }: Quarantined): Promise<void> {
    await this.client.delete(this.whole(place));
    await this.client.delete(this.note(place));
  }

  readMark(): Promise<string | undefined> {
    return this.client.getText(this.prefix + MARK_NAME);
  }

  async writeMark(text: string): Promise<void> {
    await this.client.put(this.prefix + MARK_NAME, new TextEncoder().encode(text));
  }

  private placeIn(key: string): Place[] {
    const [, app = "", id = ""] = key.slice(this.prefix.length).split("/");
    // What we have not named is not ours to judge.
    return isObjectId(app) && isObjectId(id) ? [{ app, id, ticket: "" }] : [];
  }

  /** undefined: there is no such multipart upload (any more). */
  private async parts(place: Place): Promise<Parts | undefined> {
    const ticket = parseTicket(place.ticket);
    const landed = await this.client.parts(this.whole(place), ticket.uploadId);
    if (!landed) return undefined;
    const good = landed.filter(({ number }) => !ticket.void.includes(number));
    return { good, bytes: good.reduce((sum, part) => sum + part.size, 0), next: nextNumber(ticket, landed) };
  }

  private async openParts(place: Place): Promise<Parts> {
    const parts = await this.parts(place);
    if (!parts) throw new Error("the multipart upload is gone");
    return parts;
  }

  /** Those behind the parts: of the last writer that left some. */
  private async lastBytes(place: Place, start: number): Promise<Listed | undefined> {
    let found: { readonly object: Listed; readonly generation: number } | undefined;
    for await (const object of this.client.list(this.tails(place))) {
      const [from, generation = "0"] = (object.key.split("/").at(-1) ?? "").split(".");
      if (from === String(start) && (!found || Number(generation) > found.generation))
        found = { object, generation: Number(generation) };
    }
    return found?.object;
  }

  private async bytesBehind(place: Place, start: number, count: number): Promise<Uint8Array> {
    const object = await this.lastBytes(place, start);
    if (object?.size !== count) throw new Error("the last bytes of the upload are not those that were counted");
    return this.client.get(object.key);
  }

  private async removeTails(place: Place): Promise<void> {
    for await (const { key } of this.client.list(this.tails(place))) await this.client.delete(key);
  }

  private whole(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}recordings/${place.app}/${place.id}`;
  }

  private note(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}quarantine/${place.app}/${place.id}`;
  }

  private tails(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}uploads/${place.app}/${place.id}/`;
  }

  private tail(place: Place, start: number, generation: number): string {
    return `${this.tails(place)}${start}${generation === 0 ? "" : `.${generation}`}`;
  }
}

const nameOf = ({ app, id }: Place): string => `${app}/${id}`;
