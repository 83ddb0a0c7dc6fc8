/** The headers of elements in a WebM file. */
import type { FileWindow } from "./file-window.ts";

export interface EbmlElement {
  readonly id: number;
  readonly sizeAt: number;
  readonly sizeBytes: number;
  readonly dataAt: number;
  /** undefined: unknown, as in a live stream. */
  readonly size: number | undefined;
}

/** The element at that position, of which the window has the header, except at the end of the file. */
export function elementIn({ buffer, start, length }: FileWindow, at: number): EbmlElement | "cut" | "invalid" {
  // Without views of the buffer: a file has hundreds of thousands of elements.
  const from = at - start;
  const idBytes = widthOf(buffer[from]);
  if (idBytes === undefined || idBytes > 4) return "invalid";
  const sizeFrom = from + idBytes;
  if (sizeFrom >= length) return "cut";
  const sizeBytes = widthOf(buffer[sizeFrom]);
  if (sizeBytes === undefined) return "invalid";
  const end = sizeFrom + sizeBytes;
  if (end > length) return "cut";
  let id = 0;
  for (let i = from; i < sizeFrom; i++) id = id * 256 + (buffer[i] ?? 0);
  const highest = 0xff >> sizeBytes;
  let size = (buffer[sizeFrom] ?? 0) & highest;
  let isUnknown = size === highest;
  for (let i = sizeFrom + 1; i < end; i++) {
    size = size * 256 + (buffer[i] ?? 0);
    isUnknown &&= buffer[i] === 0xff;
  }
  return { id, sizeAt: start + sizeFrom, sizeBytes, dataAt: start + end, size: isUnknown ? undefined : size };
}

/** The length of a number by its first byte. undefined: no number begins so. */
const widthOf = (first = 0): number | undefined => (first === 0 ? undefined : Math.clz32(first) - 23);
