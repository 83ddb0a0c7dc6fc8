/**
 * Recordings in an S3-compatible bucket:
 *
 *   recordings/<app>/<id>             finished recordings; an open upload is a multipart upload to this key
 *   uploads/<app>/<id>/<from>…        pieces of an open upload: bytes that are too few for a part of their own (pieces.ts)
 *   quarantine/<app>/<id>             an empty object: the recording of that name was set aside when this was written
 *   parley-storage.json               names the store that owns this bucket, or this prefix of it
 *
 * A part is sent when it is full, so that all parts but the last have the same size, as some services require. When a writer stops, the bytes after
 * the last part become a piece. No local disk is used, and any node can continue. What an overtaken writer still sends is not counted
 * (locator.ts).
 */
import { type AppId, asAppId } from "../../../base/ids.ts";
import {
  checkedPlace,
  isObjectId,
  type LinkWanted,
  MARK_NAME,
  type Place,
  type Quarantined,
  type Storage,
  type StoredEntry,
  type Takeover,
  type WriterLease,
} from "../storage.ts";
import type { S3Address } from "./address.ts";
import { appendToBucket, type OpenState, readLink } from "./append.ts";
import { type Part, PROBE_PATIENCE, S3Client, S3Refusal } from "./client.ts";
import { formatLocator, nextNumber, parseLocator } from "./locator.ts";
import { bytesIn, chainOf, type Piece, pieceOf } from "./pieces.ts";
import { BucketProbe } from "./probe.ts";

const MIB = 1024 * 1024;
/** Services accept parts of at least 5 MiB, and at most 10,000 of them. */
const PART_MIN_BYTES = 8 * MIB;
const PARTS_MAX = 9000;
/** Bound: states of open uploads in memory. */
const SEEN_MAX = 200;

/** The parts of an open upload. */
interface Parts {
  /** Those that count, in order. */
  readonly valid: readonly Part[];
  readonly bytes: number;
  /** The number of the next part. */
  readonly next: number;
}

export class Bucket implements Storage {
  readonly name: string;
  readonly losesUnflushed = false;
  private readonly client: S3Client;
  private readonly probe: BucketProbe;
  private readonly partBytes: number;
  private readonly prefix: string;
  /** What `storedBytes` has seen, for the `append` or `finish` that follows it. Bound: SEEN_MAX, the oldest is read again. */
  private readonly seen = new Map<string, OpenState>();

  constructor(address: S3Address, maxRecordingBytes: number, nowMs: () => number) {
    this.name = `the bucket ${address.bucket}${address.prefix === "" ? "" : ` (${address.prefix})`}`;
    this.client = new S3Client(address, nowMs);
    this.probe = new BucketProbe(
      new S3Client(address, nowMs, PROBE_PATIENCE),
      address.prefix,
      () => this.client.fullMs,
    );
    this.prefix = address.prefix;
    this.partBytes = Math.max(PART_MIN_BYTES, Math.ceil(maxRecordingBytes / PARTS_MAX / MIB) * MIB);
  }

  check(): Promise<void> {
    return this.probe.check();
  }

  async checkSpace(): Promise<void> {}

  begin(app: AppId, id: string): Promise<string> {
    return this.client.createMultipart(this.objectKey({ app, id, locator: "" }));
  }

  async storedBytes(place: Place): Promise<number> {
    const state = await this.open(place);
    if (!state) return (await this.client.sizeOf(this.objectKey(place))) ?? 0;
    this.remember(place, state);
    return bytesOf(state);
  }

  async append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>, lease: WriterLease): Promise<void> {
    const state = await this.stateAt(place, offset);
    const target = {
      client: this.client,
      objectKey: this.objectKey(place),
      uploadId: parseLocator(place.locator).uploadId,
      piecePrefix: this.piecePrefix(place),
      partBytes: this.partBytes,
      lease,
    };
    await appendToBucket(target, state, bytes);
  }

  async takeOver(place: Place, generation: number): Promise<Takeover> {
    const state = await this.open(place);
    // The earlier writer's void parts and pieces are removed together with the valid ones.
    const clear = async (): Promise<void> => undefined;
    if (!state) return { locator: place.locator, clear };
    const { uploadId, void: numbers, cuts } = parseLocator(place.locator);
    const cut = { at: bytesOf(state), generation };
    const relevant = cuts.filter(({ at }) => at >= state.inParts);
    const locator = formatLocator({ uploadId, void: [...numbers, state.next], cuts: [...relevant, cut] });
    return { locator, clear };
  }

  async finish(place: Place, size: number): Promise<void> {
    try {
      await this.completeParts(place, size);
    } catch (error) {
      // It may be finished already, perhaps by an overtaken writer: then the object has the same bytes.
      if (!(await this.isFinished(place, size))) throw error;
    }
    await this.removePieces(place);
  }

  private async isFinished(place: Place, size: number): Promise<boolean> {
    return !(await this.parts(place)) && (await this.client.sizeOf(this.objectKey(place))) === size;
  }

  private async completeParts(place: Place, size: number): Promise<void> {
    const key = this.objectKey(place);
    const { uploadId } = parseLocator(place.locator);
    const state = await this.stateAt(place, size);
    if (state.inParts < size || size === 0) {
      const last = new Uint8Array(size - state.inParts);
      for (const link of state.chain) last.set(await readLink(this.client, link), link.from - state.inParts);
      await this.client.uploadPart(key, uploadId, state.next, last);
    }
    const all = await this.openParts(place);
    if (all.bytes !== size) throw new Error("the parts do not have the size that their upload has");
    await this.client.completeMultipart(key, uploadId, all.valid);
  }

  async remove(place: Place): Promise<void> {
    const key = this.objectKey(place);
    if (place.locator !== "") await this.client.abortMultipart(key, parseLocator(place.locator).uploadId);
    await this.client.delete(key);
    await this.removePieces(place);
  }

  async discard(place: Place): Promise<void> {
    if (place.locator === "") await this.removePieces(place);
    else await this.client.abortMultipart(this.objectKey(place), parseLocator(place.locator).uploadId);
  }

  head(place: Place, count: number): Promise<Uint8Array> {
    // Services answer a range of an empty object with 416.
    return this.client.get(this.objectKey(place), 0, count - 1).catch((error: unknown) => {
      if (error instanceof S3Refusal && error.status === 416) return new Uint8Array();
      throw error;
    });
  }

  read(place: Place, first: number, last: number): Promise<Uint8Array | undefined> {
    return this.client.get(this.objectKey(place), first, last).catch((error: unknown) => {
      if (error instanceof S3Refusal && error.status === 404) return undefined;
      throw error;
    });
  }

  path(): undefined {
    return undefined;
  }

  async file(): Promise<undefined> {
    return undefined;
  }

  async openFile(): Promise<undefined> {
    return undefined;
  }

  link(place: Place, { disposition, contentType, seconds }: LinkWanted): string {
    const query = {
      "response-content-disposition": disposition,
      "response-content-type": contentType,
      "response-cache-control": "private, no-store",
    };
    return this.client.link(this.objectKey(place), query, seconds);
  }

  async *contents(): AsyncGenerator<StoredEntry> {
    yield* this.notInQuarantine();
    for await (const { key, modified } of this.client.list(`${this.prefix}uploads/`))
      for (const place of this.placeIn(key)) yield { place, isOpen: true, modifiedMs: modified };
    for await (const { key, uploadId, initiated } of this.client.openMultiparts(`${this.prefix}recordings/`))
      for (const place of this.placeIn(key))
        yield { place: { ...place, locator: uploadId }, isOpen: true, modifiedMs: initiated };
  }

  /** Both lists are sorted by key, so they are merged without holding either in memory. */
  private async *notInQuarantine(): AsyncGenerator<StoredEntry> {
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
    await this.client.put(this.quarantineKey(place), new Uint8Array());
  }

  async *quarantined(): AsyncGenerator<Quarantined> {
    for await (const { key, modified } of this.client.list(`${this.prefix}quarantine/`))
      for (const place of this.placeIn(key)) yield { place, sinceMs: modified };
  }

  async restore({ place }: Quarantined): Promise<void> {
    await this.client.delete(this.quarantineKey(place));
  }

  async purge({ place }: Quarantined): Promise<void> {
    await this.client.delete(this.objectKey(place));
    await this.client.delete(this.quarantineKey(place));
  }

  readMark(): Promise<string | undefined> {
    return this.client.getText(this.prefix + MARK_NAME);
  }

  async writeMark(text: string): Promise<void> {
    await this.client.put(this.prefix + MARK_NAME, new TextEncoder().encode(text));
  }

  private placeIn(key: string): Place[] {
    const [, app = "", id = ""] = key.slice(this.prefix.length).split("/");
    // Objects with other names than Parley gives are skipped, so that they are never swept.
    return isObjectId(app) && isObjectId(id) ? [{ app: asAppId(app), id, locator: "" }] : [];
  }

  /** undefined: there is no such multipart upload, or not any more. */
  private async parts(place: Place): Promise<Parts | undefined> {
    const locator = parseLocator(place.locator);
    const arrived = await this.client.parts(this.objectKey(place), locator.uploadId);
    if (!arrived) return undefined;
    const valid = arrived.filter(({ number }) => !locator.void.includes(number));
    return { valid, bytes: valid.reduce((sum, part) => sum + part.size, 0), next: nextNumber(locator, arrived) };
  }

  private async openParts(place: Place): Promise<Parts> {
    const parts = await this.parts(place);
    if (!parts) throw new Error("the multipart upload is gone");
    return parts;
  }

  /** undefined: there is no such multipart upload, or not any more. */
  private async open(place: Place): Promise<OpenState | undefined> {
    const parts = await this.parts(place);
    if (!parts) return undefined;
    const pieces: Piece[] = [];
    for await (const object of this.client.list(this.piecePrefix(place))) {
      const piece = pieceOf(object);
      if (piece) pieces.push(piece);
    }
    const chain = chainOf(pieces, parts.bytes, parseLocator(place.locator).cuts);
    return { inParts: parts.bytes, next: parts.next, chain, pieces };
  }

  /** What the bucket has of an upload that holds that many bytes. */
  private async stateAt(place: Place, bytes: number): Promise<OpenState> {
    const key = seenKey(place);
    const seen = this.seen.get(key);
    this.seen.delete(key);
    if (seen && bytesOf(seen) === bytes) return seen;
    const state = await this.open(place);
    if (!state) throw new Error("the multipart upload is gone");
    if (bytesOf(state) !== bytes) throw new Error("the upload does not have the bytes that were counted");
    return state;
  }

  private remember(place: Place, state: OpenState): void {
    this.seen.set(seenKey(place), state);
    const [oldest] = this.seen.keys();
    if (this.seen.size > SEEN_MAX && oldest !== undefined) this.seen.delete(oldest);
  }

  private async removePieces(place: Place): Promise<void> {
    for await (const { key } of this.client.list(this.piecePrefix(place))) await this.client.delete(key);
  }

  private objectKey(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}recordings/${place.app}/${place.id}`;
  }

  private quarantineKey(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}quarantine/${place.app}/${place.id}`;
  }

  private piecePrefix(place: Place): string {
    checkedPlace(place);
    return `${this.prefix}uploads/${place.app}/${place.id}/`;
  }
}

const bytesOf = ({ inParts, chain }: OpenState): number => inParts + bytesIn(chain);
const seenKey = ({ id, locator }: Place): string => `${id} ${locator}`;
const nameOf = ({ app, id }: Place): string => `${app}/${id}`;
