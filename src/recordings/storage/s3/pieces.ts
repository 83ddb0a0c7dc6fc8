/**
 * Pieces: the bytes of an open upload that are too few for a part of the multipart upload. Each is an object with a name of its own:
 *
 *   uploads/<app>/<id>/<from>.<generation>.<random>
 *
 * A piece is never changed. Several that were joined are removed after their bytes are in a part or in a larger piece, so after a crash two can
 * have the same bytes. Which of them is read does not matter, because what an overtaken writer sends late does not count (locator.ts).
 */
import { randomBytes } from "node:crypto";
import type { Listed } from "./client.ts";
import type { Cut } from "./locator.ts";

export interface Piece {
  readonly key: string;
  readonly from: number;
  readonly generation: number;
  readonly size: number;
}

/** A part of a piece, or all of it. */
export interface Link {
  readonly key: string;
  /** Where its bytes begin in the upload, and in the piece. */
  readonly from: number;
  readonly skip: number;
  readonly count: number;
}

export const pieceName = (from: number, generation: number): string =>
  `${from}.${generation}.${randomBytes(6).toString("hex")}`;

/** Earlier versions named them `<from>` or `<from>.<generation>`. undefined: it is no piece. */
export function pieceOf({ key, size }: Listed): Piece | undefined {
  const [, from, generation = "0"] = /\/(\d{1,15})(?:\.(\d{1,15}))?(?:\.[0-9a-f]{12})?$/.exec(key) ?? [];
  return from === undefined ? undefined : { key, from: Number(from), generation: Number(generation), size };
}

/** The pieces that continue the upload from `start` on, without a gap. */
export function chainOf(pieces: readonly Piece[], start: number, cuts: readonly Cut[]): Link[] {
  const links: Link[] = [];
  for (let at = start; ; ) {
    let best: { readonly piece: Piece; readonly end: number } | undefined;
    for (const piece of pieces) {
      const end = endOf(piece, cuts);
      if (piece.from > at || end <= at) continue;
      const isNewer = !best || piece.generation > best.piece.generation;
      const isLonger = piece.generation === best?.piece.generation && end > best.end;
      if (isNewer || isLonger) best = { piece, end };
    }
    if (!best) return links;
    const { piece, end } = best;
    links.push({ key: piece.key, from: at, skip: at - piece.from, count: end - at });
    at = end;
  }
}

/** Where the bytes of a piece end that count. */
function endOf({ from, generation, size }: Piece, cuts: readonly Cut[]): number {
  const last = cuts.filter((cut) => generation < cut.generation).map(({ at }) => at);
  return Math.min(from + size, ...last);
}

export const bytesIn = (links: readonly Link[]): number => links.reduce((sum, { count }) => sum + count, 0);
