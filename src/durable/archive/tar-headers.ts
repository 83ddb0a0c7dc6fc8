/**
 * Headers of a tar. There is one way to write the header of an entry, and a reader accepts no other: it takes name, size and time from the
 * header, writes it again, and compares all bytes. So every field and every byte of padding is checked, and only regular files exist.
 */
import type { ByteSource } from "./byte-source.ts";
import { ArchiveError } from "./errors.ts";
import { NAME_MAX_BYTES } from "./format.ts";

export const BLOCK_BYTES = 512;
/** The tar ends with two blocks of zeros. */
export const END_BYTES = 2 * BLOCK_BYTES;

export interface TarHeader {
  readonly name: string;
  readonly size: number;
  /** Unix time in seconds: a tar has no smaller unit without a second header per entry. */
  readonly modifiedSeconds: number;
}

const NAME_FIELD_BYTES = 100;
/** Eleven octal digits. */
const OCTAL_MAX = 8 ** 11 - 1;
const REGULAR = "0";
const PAX = "x";
const PAX_NAME = "PaxHeaders/entry";
/** Both records with the longest name, and what belongs to them. */
const PAX_MAX_BYTES = NAME_MAX_BYTES + 100;

const ZEROS = Buffer.alloc(BLOCK_BYTES);
const utf8 = new TextDecoder("utf-8", { fatal: true });

export const secondsOf = (ms: number): number =>
  Number.isFinite(ms) ? Math.min(Math.max(0, Math.floor(ms / 1000)), OCTAL_MAX) : 0;

/** How many zeros follow content of that size. */
export const paddingOf = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;

export function encodeHeader({ name, size, modifiedSeconds }: TarHeader): Buffer {
  const nameBytes = Buffer.from(name);
  const isLong = nameBytes.length > NAME_FIELD_BYTES;
  const isLarge = size > OCTAL_MAX;
  const main = block(nameBytes.subarray(0, NAME_FIELD_BYTES), isLarge ? 0 : size, modifiedSeconds, REGULAR);
  if (!isLong && !isLarge) return main;
  const records = Buffer.from((isLong ? record("path", name) : "") + (isLarge ? record("size", String(size)) : ""));
  const pax = block(Buffer.from(PAX_NAME), records.length, modifiedSeconds, PAX);
  return Buffer.concat([pax, records, Buffer.alloc(paddingOf(records.length)), main]);
}

/** One block. The offsets are those of POSIX ustar. */
function block(name: Uint8Array, size: number, modifiedSeconds: number, type: string): Buffer {
  const bytes = Buffer.alloc(BLOCK_BYTES);
  bytes.set(name);
  // Only the owner may read what is extracted: it has sealed secrets and recordings.
  bytes.write("0000600\0", 100);
  bytes.write("0000000\0", 108);
  bytes.write("0000000\0", 116);
  bytes.write(`${octal(size)}\0`, 124);
  bytes.write(`${octal(modifiedSeconds)}\0`, 136);
  bytes.write("        ", 148);
  bytes.write(type, 156);
  bytes.write("ustar\x0000", 257);
  let sum = 0;
  for (const byte of bytes) sum += byte;
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}

const octal = (number: number): string => number.toString(8).padStart(11, "0");

/** `<length> <key>=<value>\n`, whose length counts its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${rest}`;
}

/** undefined: a block of zeros, with which the end begins. */
export async function readHeader(tar: ByteSource): Promise<TarHeader | undefined> {
  const first = Buffer.from(await tar.exactly(BLOCK_BYTES, "the header of an entry"));
  if (first.equals(ZEROS)) return undefined;
  if (typeOf(first) !== PAX) return checked(first, first, {});
  const size = octalIn(first, 124);
  if (!(size > 0 && size <= PAX_MAX_BYTES)) throw damagedHeader();
  const rest = await tar.exactly(size + paddingOf(size) + BLOCK_BYTES, "the header of an entry");
  const records = recordsIn(textOf(rest.subarray(0, size)));
  return checked(Buffer.concat([first, rest]), Buffer.from(rest.subarray(-BLOCK_BYTES)), records);
}

/** `whole`: all bytes of the header, the last block of which is `main`. */
function checked(whole: Buffer, main: Buffer, { path, size }: Readonly<Record<string, string>>): TarHeader {
  const header = {
    name: path ?? nameIn(main),
    size: size === undefined ? octalIn(main, 124) : Number(size),
    modifiedSeconds: octalIn(main, 136),
  };
  const isPlausible = Number.isSafeInteger(header.size) && Number.isSafeInteger(header.modifiedSeconds);
  if (!isPlausible || !encodeHeader(header).equals(whole)) throw damagedHeader();
  return header;
}

export function nameIn(header: Buffer): string {
  const field = header.subarray(0, NAME_FIELD_BYTES);
  const end = field.indexOf(0);
  return textOf(end < 0 ? field : field.subarray(0, end));
}

const typeOf = (header: Buffer): string => String.fromCharCode(header[156] ?? 0);

function octalIn(header: Buffer, at: number): number {
  const digits = header.toString("latin1", at, at + 11);
  return /^[0-7]{11}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

/** The comparison with what is written again finds wrong lengths and unknown keys. */
const recordsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => /^\d+ (path|size)=(.*)$/s.exec(line) ?? [])
      .map(([, key = "", value = ""]) => [key, value]),
  );

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw damagedHeader();
  }
}

const damagedHeader = (): ArchiveError =>
  new ArchiveError("damaged", "the header of an entry is not one that Parley writes");
