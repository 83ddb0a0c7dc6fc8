/** The rows of a small table of a SQLite file, read without SQLite (sqlite-pages.ts says why). Only what the beginning of a row holds is read. */
import { HEADER_BYTES, type SqlitePages, UnreadableFile } from "./sqlite-pages.ts";

const TABLE_LEAF = 0x0d;
const TABLE_INTERIOR = 0x05;
/** Bound: a damaged file may lead in circles, and the tables that are read here are small. */
const PAGES_MAX = 1000;

export type Value = string | number | null;

/** undefined: there is no such table. */
export function rowsOf(pages: SqlitePages, table: string, columns: number): Value[][] | undefined {
  for (const [type, name, , root] of walk(pages, 1, 4))
    if (type === "table" && name === table && typeof root === "number") return [...walk(pages, root, columns)];
  return undefined;
}

function* walk(pages: SqlitePages, root: number, columns: number): Generator<Value[]> {
  const left = [root];
  for (let seen = 0; ; seen++) {
    const number = left.pop();
    if (number === undefined) return;
    if (seen === PAGES_MAX) throw new UnreadableFile("a table that should be small has many pages");
    const page = pages.page(number);
    // The first page begins with the header of the file.
    const at = number === 1 ? HEADER_BYTES : 0;
    const type = page[at];
    if (type !== TABLE_LEAF && type !== TABLE_INTERIOR)
      throw new UnreadableFile(`its page ${number} is not one of a table`);
    const pointers = at + (type === TABLE_LEAF ? 8 : 12);
    const cells = Array.from({ length: page.readUInt16BE(at + 3) }, (_, one) => page.readUInt16BE(pointers + 2 * one));
    if (type === TABLE_LEAF) for (const cell of cells) yield rowAt(page, cell, pages.header.usableBytes, columns);
    // In their order, the last one on top.
    else left.push(page.readUInt32BE(at + 8), ...cells.map((cell) => page.readUInt32BE(cell)).reverse());
  }
}

function rowAt(page: Buffer, at: number, usableBytes: number, columns: number): Value[] {
  const size = varint(page, at);
  const key = varint(page, size.end);
  const local = page.subarray(key.end, key.end + localBytes(size.value, usableBytes));
  const head = varint(local, 0);
  const row: Value[] = [];
  let type = { value: 0, end: head.end };
  let value = head.value;
  while (row.length < columns && type.end < head.value) {
    type = varint(local, type.end);
    row.push(valueAt(local, value, type.value));
    value += bytesOf(type.value);
  }
  return row;
}

/** How much of a row is on its page; what is longer goes on elsewhere. */
function localBytes(size: number, usable: number): number {
  if (size <= usable - 35) return size;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const some = least + ((size - least) % (usable - 4));
  return some <= usable - 35 ? some : least;
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

const bytesOf = (type: number): number =>
  type < INTEGER_BYTES.length ? (INTEGER_BYTES[type] ?? 0) : Math.floor((type - 12) / 2);

function valueAt(row: Buffer, at: number, type: number): Value {
  const length = bytesOf(type);
  // It goes on elsewhere.
  if (at + length > row.length) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type >= 13 && type % 2 === 1) return row.toString("utf8", at, at + length);
  if (type === 6) return Number(row.readBigInt64BE(at));
  // Neither of them is in the tables that are read here: no value, a fraction, bytes.
  return type === 0 || type === 7 || type > 9 ? null : row.readIntBE(at, length);
}

/** Seven bits per byte, eight in the ninth. Beyond 53 bits it is not exact, which no length or type needs. */
function varint(bytes: Buffer, from: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = from; at < from + 9; at++) {
    const byte = bytes[at];
    if (byte === undefined) throw new UnreadableFile("a row is cut off");
    if (at === from + 8) return { value: value * 256 + byte, end: at + 1 };
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return { value, end: from + 9 };
}
