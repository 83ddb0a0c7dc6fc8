/**
 * The digests of entries: lines of SHA256SUMS. A reader compares the list as a whole, by a running hash of the lines that it expects, and needs
 * no memory per entry. A writer needs the lines themselves at the end: a million are 140 MB, so what is more than some MiB goes to
 * a file that has no name.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";

const IN_MEMORY_CHARS = 2 * 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

/** As sha256sum writes it. */
const lineOf = (name: string, sha256: string): string => `${sha256}  ${name}\n`;

export class ExpectedSums {
  /** How many bytes all lines have. */
  bytes = 0;
  private readonly hash = createHash("sha256");

  add(name: string, sha256: string): void {
    const line = Buffer.from(lineOf(name, sha256));
    this.bytes += line.length;
    this.hash.update(line);
  }

  /** To be called once. */
  digest(): string {
    return this.hash.digest("hex");
  }
}

export class WrittenSums implements AsyncDisposable {
  /** How many bytes all lines have. */
  bytes = 0;
  private text = "";
  private file: FileHandle | undefined;
  private inFileBytes = 0;

  constructor(private readonly folder: string) {}

  async add(name: string, sha256: string): Promise<void> {
    const line = lineOf(name, sha256);
    this.bytes += Buffer.byteLength(line);
    this.text += line;
    if (this.text.length >= IN_MEMORY_CHARS) await this.spill();
  }

  async *content(): AsyncGenerator<Uint8Array> {
    for (let at = 0; this.file && at < this.inFileBytes; ) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, this.inFileBytes - at));
      const { bytesRead } = await this.file.read(piece, 0, piece.length, at);
      if (bytesRead === 0) throw new Error("the temporary list of digests is shorter than it was");
      yield piece.subarray(0, bytesRead);
      at += bytesRead;
    }
    yield Buffer.from(this.text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.file?.close();
  }

  private async spill(): Promise<void> {
    this.file ??= await namelessFile(this.folder);
    const bytes = Buffer.from(this.text);
    this.text = "";
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.file.write(bytes, at, bytes.length - at, this.inFileBytes);
      at += bytesWritten;
      this.inFileBytes += bytesWritten;
    }
  }
}

/** Its space is free again when it is closed, also if the process is killed. */
async function namelessFile(folder: string): Promise<FileHandle> {
  const path = join(folder, `parley-digests-${crypto.randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  return file;
}
