/**
 * Backups in an S3-compatible bucket. A backup is a multipart upload, which has a name only when it is completed. Writers that begin in the same
 * second see each other's open uploads, and take different names.
 */
import type { S3Address } from "../../recordings/storage/s3/address.ts";
import { S3Client, S3Refusal } from "../../recordings/storage/s3/client.ts";
import { StorageFull, StorageUnavailable } from "../../recordings/storage/storage.ts";
import type { SingleFile } from "./folder.ts";
import { backupName, byAge, isBackupName, numbered, parsedName, SAME_SECOND_MAX } from "./names.ts";
import { removeOldUploads } from "./open-uploads.ts";
import {
  type Backup,
  LEFTOVER_AFTER_MS,
  type Target,
  TargetError,
  throwIfAborted,
  type WriteOptions,
} from "./target.ts";
import { Upload } from "./upload.ts";

const TRY_LATER = "Try again later.";
const READ_BYTES = 8 * 1024 * 1024;

export class BucketTarget implements Target {
  readonly label: string;
  readonly isSingle: boolean;
  private readonly client: S3Client;

  constructor(
    private readonly address: S3Address,
    private readonly nowMs: () => number,
    private readonly single?: SingleFile,
  ) {
    this.isSingle = single !== undefined;
    const bucket = `the bucket ${address.bucket}${address.prefix === "" ? "" : ` (${address.prefix})`}`;
    this.label = single ? `${single.name} in ${bucket}` : bucket;
    this.client = new S3Client(address, nowMs);
  }

  nameAt(nowMs: number): string {
    return this.single?.name ?? backupName(nowMs);
  }

  async write(name: string, bytes: AsyncIterable<Uint8Array>, options: WriteOptions = {}): Promise<Backup> {
    this.check(name);
    const { signal, expectedBytes } = options;
    throwIfAborted(signal);
    const { name: free, uploadId } = await this.mapped(() => this.begin(name));
    const key = this.keyOf(free);
    const client = new S3Client(this.address, this.nowMs, undefined, signal);
    const upload = new Upload(client, key, uploadId, expectedBytes);
    try {
      for await (const chunk of bytes) {
        throwIfAborted(signal);
        await this.mapped(() => upload.add(chunk));
      }
      throwIfAborted(signal);
      await this.mapped(() => upload.finish(() => this.refuseTaken(free)));
      return { name: free, bytes: upload.bytes, timeMs: parsedName(free)?.timeMs ?? this.nowMs() };
    } catch (error) {
      await upload.settle();
      // What cannot be removed now is a leftover that a later write removes.
      await this.client.abortMultipart(key, uploadId).catch(() => undefined);
      throwIfAborted(signal);
      throw error;
    }
  }

  list(): Promise<Backup[]> {
    return this.mapped(async () => {
      const found: Backup[] = [];
      for await (const { key, size, modified } of this.client.list(
        this.address.prefix + (this.single?.name ?? "parley-"),
      )) {
        const name = key.slice(this.address.prefix.length);
        if (this.isOurs(name)) found.push({ name, bytes: size, timeMs: parsedName(name)?.timeMs ?? modified });
      }
      return found.sort((a, b) => byAge(a.name, b.name));
    });
  }

  /** In ranges, each of which is repeated if the connection is lost. */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    this.check(name);
    const key = this.keyOf(name);
    const size = await this.mapped(() => this.client.sizeOf(key));
    if (size === undefined) throw new TargetError("missing", `${this.label} has no backup ${name}`);
    for (let at = 0; at < size; ) {
      const last = Math.min(at + READ_BYTES, size) - 1;
      const part = await this.mapped(() => this.client.get(key, at, last));
      if (part.length !== last - at + 1)
        throw new TargetError("unavailable", `${this.label} sent fewer bytes than it has. ${TRY_LATER}`);
      at += part.length;
      yield part;
    }
  }

  async remove(name: string): Promise<void> {
    this.check(name);
    await this.mapped(() => this.client.delete(this.keyOf(name)));
  }

  private keyOf(name: string): string {
    return this.address.prefix + name;
  }

  private isOurs(name: string): boolean {
    return this.single ? name === this.single.name : isBackupName(name);
  }

  private check(name: string): void {
    if (!this.isOurs(name)) throw new Error("only backups of this target are written, read and removed");
  }

  /** Begins an upload under a name that is free, and that no other writer has begun. */
  private async begin(wanted: string): Promise<{ readonly name: string; readonly uploadId: string }> {
    await this.refuseTakenSingle();
    await this.removeLeftovers();
    for (let number = 1; number <= SAME_SECOND_MAX; number++) {
      const name = number === 1 ? wanted : numbered(wanted, number);
      const key = this.keyOf(name);
      if (this.single) return { name, uploadId: await this.client.createMultipart(key) };
      if ((await this.client.sizeOf(key)) === undefined) {
        const uploadId = await this.client.createMultipart(key);
        if (!(await this.hasOther(key, uploadId))) return { name, uploadId };
        await this.client.abortMultipart(key, uploadId);
        // Two that saw each other both go on, and must not meet at the next name too.
        number += Math.floor(Math.random() * 4);
      }
    }
    throw this.alreadyThere(wanted);
  }

  private async hasOther(key: string, uploadId: string): Promise<boolean> {
    for await (const open of this.client.openMultiparts(key))
      if (open.key === key && open.uploadId !== uploadId) return true;
    return false;
  }

  private async refuseTakenSingle(): Promise<void> {
    if (this.single) await this.refuseTaken(this.single.name);
  }

  /** Also before an upload is completed: services differ in whether they can refuse that by themselves. */
  private async refuseTaken(name: string): Promise<void> {
    if (!this.single?.force && (await this.client.sizeOf(this.keyOf(name))) !== undefined)
      throw this.alreadyThere(name);
  }

  private removeLeftovers(): Promise<void> {
    const { prefix } = this.address;
    const isOurs = (key: string): boolean => this.isOurs(key.slice(prefix.length));
    return removeOldUploads(this.client, prefix, isOurs, this.nowMs() - LEFTOVER_AFTER_MS);
  }

  private alreadyThere(name: string): TargetError {
    return new TargetError(
      "exists",
      `${this.label} already has ${name}: choose another name, or replace it with --force`,
    );
  }

  /** Says in terms of the target what the client reports, whose errors have no credential in them. */
  private async mapped<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.problem(error);
    }
  }

  private problem(error: unknown): unknown {
    if (error instanceof StorageFull)
      return new TargetError("full", `${this.label} has no space left: free some, or choose another place`);
    if (!(error instanceof StorageUnavailable)) return error;
    const status = error instanceof S3Refusal ? error.status : 0;
    if (status === 404) return new TargetError("missing", `${this.label} does not exist: ${error.message}`);
    if (status === 401 || status === 403)
      return new TargetError(
        "forbidden",
        `${this.label} cannot be used: ${error.message}. Check the credential and its rights.`,
      );
    return new TargetError("unavailable", `${this.label} cannot be used: ${error.message}. ${TRY_LATER}`);
  }
}
