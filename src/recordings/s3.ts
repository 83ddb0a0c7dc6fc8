/**
 * Recordings in an S3-compatible bucket:
 *
 *   recordings/<app>/<id>        whole ones; an open upload is a multipart upload to this key
 *   uploads/<app>/<id>/<start>   its last bytes, those from `start` on, while they are too few for a part of their own
 *
 * A part is sent when it is full, so that all but the last have one size, as some services want it. The bytes behind the last
 * part become an object of their own whenever a writer stops; its key says behind how many bytes it belongs, so that one that
 * has become part of a part meanwhile is never counted again. No disk of ours is used, and any node can go on.
 */
import type { S3Address } from "./s3-address.ts";
import { type Part, S3Client, S3Refusal } from "./s3-client.ts";
import { checkedPlace, isObjectId, type LinkWanted, type Place, type Storage } from "./storage.ts";

const MIB = 1024 * 1024;
/** Services take parts from 5 MiB on, and at most 10,000 of them. */
const PART_MIN_BYTES = 8 * MIB;
const PARTS_MAX = 9000;

export class Bucket implements Storage {
  readonly name: string;
  private readonly client: S3Client;
  private readonly partBytes: number;
  private readonly prefix: string;

  constructor(address: S3Address, maxRecordingBytes: number, nowMs: () => number) {
    this.name = `the bucket ${address.bucket}`;
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
    const parts = await this.client.parts(this.whole(place), place.ticket);
    if (!parts) return (await this.client.sizeOf(this.whole(place))) ?? 0;
    const inParts = sizeOf(parts);
    return inParts + ((await this.client.sizeOf(this.tail(place, inParts))) ?? 0);
  }

  async append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const parts = await this.openParts(place);
    let start = sizeOf(parts);
    let number = parts.length + 1;
    const buffer = new Uint8Array(this.partBytes);
    const before = offset - start;
    if (before > 0) buffer.set(await this.client.get(this.tail(place, start)));
    let filled = before;
    let isKept = true;
    try {
      for await (const chunk of bytes) {
        for (let done = 0; done < chunk.length; ) {
          if (filled === this.partBytes) {
            await this.client.uploadPart(this.whole(place), place.ticket, number++, buffer);
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
      if (!isKept) await this.client.put(this.tail(place, start), buffer.subarray(0, filled));
    }
  }

  async finish(place: Place, size: number): Promise<void> {
    const key = this.whole(place);
    if (!(await this.client.parts(key, place.ticket)) && (await this.client.sizeOf(key)) === size) return;
    const parts = await this.openParts(place);
    const inParts = sizeOf(parts);
    if (inParts < size || parts.length === 0) {
      const tail = inParts < size ? await this.client.get(this.tail(place, inParts)) : new Uint8Array();
      await this.client.uploadPart(key, place.ticket, parts.length + 1, new Uint8Array(tail));
    }
    const all = await this.openParts(place);
    if (sizeOf(all) !== size) throw new Error("the parts do not have the size that their upload has");
    await this.client.completeMultipart(key, place.ticket, all);
    await this.removeTails(place);
  }

  async remove(place: Place): Promise<void> {
    const key = this.whole(place);
    if (place.ticket !== "") await this.client.abortMultipart(key, place.ticket);
    await this.client.delete(key);
    await this.removeTails(place);
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

  async *strays(before: number): AsyncGenerator<Place> {
    for (const folder of ["recordings/", "uploads/"])
      for await (const { key, modified } of this.client.list(this.prefix + folder))
        if (modified < before) yield* this.placeOf(key, "");
    for await (const { key, uploadId, initiated } of this.client.openMultiparts(`${this.prefix}recordings/`))
      if (initiated < before) yield* this.placeOf(key, uploadId);
  }

  private *placeOf(key: string, ticket: string): Generator<Place> {
    const [, app = "", id = ""] = key.slice(this.prefix.length).split("/");
    // What we have not named is not ours to judge.
    if (isObjectId(app) && isObjectId(id)) yield { app, id, ticket };
  }

  private async openParts(place: Place): Promise<Part[]> {
    const parts = await this.client.parts(this.whole(place), place.ticket);
    if (!parts) throw new Error("the multipart upload is gone");
    return parts;
  }

  private async removeTails(place: Place): Promise<void> {
    for await (const { key } of this.client.list(this.tail(place, ""))) await this.client.delete(key);
  }

  private whole(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}recordings/${place.app}/${place.id}`;
  }

  private tail(place: Place, start: number | ""): string {
    checkedPlace(place);
    return `${this.prefix}uploads/${place.app}/${place.id}/${start}`;
  }
}

const sizeOf = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + part.size, 0);
