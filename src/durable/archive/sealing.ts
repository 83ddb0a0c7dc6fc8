/**
 * Encryption of a whole backup: the STREAM construction with AES-256-GCM, in chunks.
 *
 *   offset  bytes
 *        0     14  `parley-sealed\n`
 *       14      2  version, big-endian: 1
 *       16     32  salt, random for each file
 *       48     16  key check: derived from the key and the salt, so that another key is noticed before anything is decrypted
 *       64      8  the first bytes of the SHA-256 of all before, so that a damaged header is not taken for another key
 *       72         chunks: 64 KiB encrypted and a tag of 16 bytes each; only the last may have less, and it is never empty
 *
 * Every version begins with these 72 bytes.
 * Each file has a key of its own, HKDF-SHA256 of the key and the salt. The nonce of a chunk is its number, and whether it is the last one: a
 * chunk that is changed, moved, repeated or removed does not open, and neither does the last chunk of a file that was cut off. A chunk is
 * yielded only after its tag was verified.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type { ByteSource } from "./byte-source.ts";
import { ArchiveError } from "./errors.ts";
import { CHUNK_BYTES, KEY_BYTES } from "./format.ts";

export const SEALED_MAGIC = Buffer.from("parley-sealed\n");
const VERSION = 1;
const SALT_BYTES = 32;
const CHECK_BYTES = 16;
const HEADER_SUM_BYTES = 8;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
/** What the sum covers. */
const SUMMED_BYTES = SEALED_MAGIC.length + 2 + SALT_BYTES + CHECK_BYTES;
export const SEALED_HEADER_BYTES = SUMMED_BYTES + HEADER_SUM_BYTES;
export const SEALED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;

export async function* sealed(bytes: AsyncIterable<Uint8Array>, key: Uint8Array): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(SALT_BYTES);
  const { chunkKey, check } = keysOf(key, salt);
  const summed = Buffer.concat([SEALED_MAGIC, Buffer.of(VERSION >> 8, VERSION), salt, check]);
  yield Buffer.concat([summed, headerSum(summed)]);
  const content = Buffer.alloc(CHUNK_BYTES);
  let [length, number] = [0, 0];
  for await (const given of bytes)
    for (let at = 0; at < given.length; ) {
      // Only when there are more bytes: before, it is not known whether this chunk is the last one.
      if (length === CHUNK_BYTES) {
        yield sealChunk(chunkKey, number++, false, content);
        length = 0;
      }
      const part = given.subarray(at, at + CHUNK_BYTES - length);
      content.set(part, length);
      length += part.length;
      at += part.length;
    }
  yield sealChunk(chunkKey, number, true, content.subarray(0, length));
}

/** Verifies the header. What it returns yields the content. */
export async function unsealed(source: ByteSource, key: Uint8Array | undefined): Promise<AsyncGenerator<Uint8Array>> {
  const header = Buffer.from(await source.exactly(SEALED_HEADER_BYTES, "its header"));
  const version = header.readUInt16BE(SEALED_MAGIC.length);
  const isIntact = headerSum(header.subarray(0, SUMMED_BYTES)).equals(header.subarray(SUMMED_BYTES));
  if (!isIntact) throw new ArchiveError("damaged", "its header has changed");
  if (version !== VERSION)
    throw new ArchiveError("newer-format", `its encryption has version ${version}, and this version knows ${VERSION}`);
  if (!key) throw new ArchiveError("needs-key", "its contents cannot be read without one");
  const saltAt = SEALED_MAGIC.length + 2;
  const { chunkKey, check } = keysOf(key, header.subarray(saltAt, saltAt + SALT_BYTES));
  if (!timingSafeEqual(check, header.subarray(saltAt + SALT_BYTES, SUMMED_BYTES)))
    throw new ArchiveError("wrong-key", "the key that is set does not open it");
  return opened(source, chunkKey);
}

async function* opened(source: ByteSource, key: Buffer): AsyncGenerator<Uint8Array> {
  const sealedChunk = Buffer.alloc(SEALED_CHUNK_BYTES);
  for (let number = 0, isLast = false; !isLast; number++) {
    const chunk = sealedChunk.subarray(0, await source.fill(sealedChunk));
    isLast = await source.isAtEnd();
    const content = openChunk(key, number, isLast, chunk);
    if (!content) throw whyClosed(key, number, isLast, chunk);
    yield content;
  }
}

/** Whether a chunk at the end of the file is a cut one cannot be seen, but files that were cut off are far more frequent than changed ones. */
function whyClosed(key: Buffer, number: number, isLast: boolean, chunk: Buffer): ArchiveError {
  const isCut = isLast && (chunk.length < SEALED_CHUNK_BYTES || openChunk(key, number, false, chunk) !== undefined);
  return isCut
    ? new ArchiveError("truncated", "its last chunk is not whole")
    : new ArchiveError("damaged", `chunk ${number} is not as it was written`);
}

function sealChunk(key: Buffer, number: number, isLast: boolean, content: Buffer): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonceOf(number, isLast));
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** undefined: it is not the chunk of that number in this file, or not as it was written. */
function openChunk(key: Buffer, number: number, isLast: boolean, chunk: Buffer): Buffer | undefined {
  const end = chunk.length - TAG_BYTES;
  if (end <= 0) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(number, isLast)).setAuthTag(chunk.subarray(end));
  const content = decipher.update(chunk.subarray(0, end));
  try {
    decipher.final();
    return content;
  } catch {
    return undefined;
  }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeBigUInt64BE(BigInt(number));
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

const headerSum = (header: Uint8Array): Buffer =>
  createHash("sha256").update(header).digest().subarray(0, HEADER_SUM_BYTES);

/** The labels are part of the format. */
function keysOf(key: Uint8Array, salt: Uint8Array): { chunkKey: Buffer; check: Buffer } {
  if (key.length !== KEY_BYTES) throw new Error(`the key of a backup has ${KEY_BYTES} bytes`);
  return {
    chunkKey: Buffer.from(hkdfSync("sha256", key, salt, "parley backup 1 chunks", KEY_BYTES)),
    check: Buffer.from(hkdfSync("sha256", key, salt, "parley backup 1 key check", CHECK_BYTES)),
  };
}
