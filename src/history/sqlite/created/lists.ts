/** Lists of created streams, in slices: a search may look at the names of all streams of an application. */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../../base/ids.ts";
import type { CreatedStreamStore, ListedStream, StreamName } from "../../contract/created-streams.ts";
import { type Found, shown } from "./rows.ts";

/** Names that one slice looks at, and how many of their streams it reads: together about a millisecond. */
const SLICE_NAMES = 1000;
const SLICE_STREAMS = 50;

export type ListRequest = Parameters<CreatedStreamStore["list"]>[1];

interface Slice {
  readonly found: readonly ListedStream[];
  /** Where the next slice begins; `undefined`: nothing follows. */
  readonly next: string | undefined;
}

export class CreatedLists {
  private readonly names;
  private readonly producers;

  constructor(
    db: Database,
    private readonly usable: (name: StreamName) => Found | "gone" | undefined,
  ) {
    this.names = db.prepare<{ channel: string }, [string, string]>(
      `SELECT channel FROM streams WHERE app = ? AND channel > ? ORDER BY channel LIMIT ${SLICE_NAMES}`,
    );
    this.producers = db.prepare<{ count: number }, [number]>(
      "SELECT COUNT(*) AS count FROM producers WHERE stream = ?",
    );
  }

  some(spaceId: SpaceId, { after = "", contains = "", limit }: ListRequest): Slice {
    const wanted = contains.toLowerCase();
    const found: ListedStream[] = [];
    const names = this.names.all(spaceId, after);
    for (const { channel } of names) {
      const one = channel.toLowerCase().includes(wanted) ? this.usable({ spaceId, channel }) : undefined;
      if (!one || one === "gone") continue;
      found.push({ channel, ...shown(one), producers: this.producers.get(one.row.id)?.count ?? 0 });
      if (found.length === Math.min(limit, SLICE_STREAMS)) return { found, next: channel };
    }
    return { found, next: names.at(-1)?.channel };
  }
}

/** A whole list. */
export async function inSlices(
  { limit, ...request }: ListRequest,
  sliceOf: (request: ListRequest) => Slice,
): Promise<readonly ListedStream[]> {
  let { found, next } = sliceOf({ ...request, limit });
  const all = [...found];
  while (next !== undefined && all.length < limit) {
    await Bun.sleep(0);
    ({ found, next } = sliceOf({ ...request, after: next, limit: limit - all.length }));
    all.push(...found);
  }
  return all;
}
