/**
 * Judges the store and the storage, directly: while the service is dead, at the moment of each kill, and at the end. What a page sent and the
 * service has acknowledged must be there; what is listed must be whole; what was deleted must stay away.
 */
import { type Dirent, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SQL } from "bun";
import { MARK_NAME } from "../../../../src/recordings/storage/storage.ts";
import type { Run, Runs } from "./runs.ts";
import { framesOf } from "./webm.ts";

interface Row {
  readonly id: string;
  readonly app: string;
  readonly file: string | null;
  readonly size_in_bytes: number | string;
  readonly mended: number | string | null;
  readonly start_time: number | string;
  readonly end_time: number | string;
}

interface OpenRow {
  readonly id: string;
  readonly app: string;
  readonly ticket: string;
  readonly finished: number | string | null;
  readonly bytes: number | string;
}

interface JudgeParts {
  readonly runs: Runs;
  /** Folder with everything that the storage has. */
  readonly storage: string;
  readonly isBucket: boolean;
  /** Where a bucket has its multipart uploads. */
  readonly unfinished?: string | undefined;
  /** No node changes the store while it is judged. */
  readonly isQuiet: boolean;
}

export class Judge {
  mended = 0;
  asTheyCame = 0;
  /** Recordings whose bytes were compared: they do not change any more. */
  private readonly seen = new Set<string>();

  constructor(private readonly parts: JudgeParts) {}

  async look(sql: SQL): Promise<void> {
    const { runs, isQuiet } = this.parts;
    const before = runs.living.filter(({ acked }) => acked > 0);
    // In this order: a row moves from the first table to the second.
    const open: OpenRow[] = await sql`SELECT id, app, ticket, finished, bytes FROM uploads WHERE ended IS NULL`;
    const listed: Row[] = await sql`SELECT id, app, file, size_in_bytes, mended, start_time, end_time FROM recordings`;
    const twice: Row[] = await sql`SELECT r.id FROM recordings r JOIN uploads u ON u.id = r.id WHERE u.ended IS NULL`;
    if (twice.length > 0) throw new Error(`${twice[0]?.id} is listed, and still an upload`);
    const held = new Set([...open, ...listed].map(({ id }) => id));
    const lost = before.filter(({ id, deleted }) => deleted === false && !held.has(id));
    if (lost.length > 0) throw new Error(`of ${lost.map(({ id, acked }) => `${id} (${acked} bytes)`)} nothing is left`);
    for (const row of listed) await this.listed(sql, row);
    if (isQuiet) for (const row of open) this.upload(row);
    await this.counters(sql);
  }

  private async listed(sql: SQL, row: Row): Promise<void> {
    const run = this.parts.runs.all.get(row.id);
    if (!run) throw new Error(`${row.id} is listed, and no page has begun it`);
    if (run.deleted === true) throw new Error(`${row.id} is listed, although it was deleted`);
    const bytes = this.fileOf(row.app, row.file ?? row.id, this.seen.has(row.id));
    if (bytes === undefined) {
      // Where nodes work meanwhile, it may just have been deleted: its row goes first.
      const rest: Row[] = await sql`SELECT id FROM recordings WHERE id = ${row.id}`;
      if (rest.length > 0) throw new Error(`${row.id} is listed without its file`);
      return;
    }
    const size = typeof bytes === "number" ? bytes : bytes.length;
    if (size !== Number(row.size_in_bytes))
      throw new Error(`${row.id} has ${size} bytes, and ${row.size_in_bytes} in its row`);
    if (typeof bytes === "number") return;
    this.seen.add(row.id);
    if (Number(row.mended) === 1) this.isMended(run, row, bytes);
    else this.isAsItCame(run, bytes);
  }

  private isAsItCame(run: Run, bytes: Uint8Array): void {
    this.asTheyCame++;
    if (bytes.length < run.acked) throw new Error(`${run.id} has ${bytes.length} of ${run.acked} acknowledged bytes`);
    if (!isPrefix(bytes, run.bytes)) throw new Error(`${run.id} is listed with other bytes than were sent`);
  }

  /** Every frame that was acknowledged, none that was not sent, and what a player needs to seek. */
  private isMended(run: Run, row: Row, bytes: Uint8Array): void {
    this.mended++;
    const made = framesOf(bytes);
    const acked = framesOf(run.bytes.subarray(0, run.acked));
    const sent = framesOf(run.bytes.subarray(0, run.sent));
    for (const [track, frames] of sent.tracks) {
      const found = made.tracks.get(track) ?? [];
      const least = acked.tracks.get(track)?.length ?? 0;
      if (found.length < least) throw new Error(`${run.id}: ${found.length} of ${least} frames of track ${track}`);
      const wrong = found.findIndex((frame, at) => frame !== frames[at]);
      if (wrong >= 0) throw new Error(`${run.id}: frame ${wrong} of track ${track} is not the one that was sent`);
    }
    const most = Math.max(...[...made.tracks.values()].map((frames) => frames.length));
    // A single frame takes no time.
    if (most > 1 && (made.durationMs <= 0 || !made.hasCues))
      throw new Error(`${run.id} was mended, and ${made.durationMs} ms or no index are in it`);
    const seconds = Number(row.end_time) - Number(row.start_time);
    if (Math.abs(seconds - made.durationMs / 1000) > 1)
      throw new Error(`${run.id} takes ${made.durationMs} ms, and ${seconds} s in its row`);
  }

  /** An upload that is not listed yet has every byte that was acknowledged. */
  private upload({ id, app, ticket, finished, bytes }: OpenRow): void {
    const run = this.parts.runs.all.get(id);
    if (run?.deleted !== false) return;
    if (finished !== null && this.sizeOf(app, id) !== Number(bytes))
      throw new Error(`${id} is finished with ${bytes} bytes, and its file has ${this.sizeOf(app, id)}`);
    // A bucket has no file of it until it is finished; there, its page asks for the offset after each start.
    if (this.parts.isBucket && finished === null) return;
    const name = /^g\d+$/.test(ticket) ? `${id}.${ticket}` : id;
    const held = read(join(this.parts.storage, "uploads", name)) ?? this.fileOf(app, id, false) ?? new Uint8Array();
    if (typeof held === "number") return;
    if (held.length < run.acked) throw new Error(`${id} holds ${held.length} of ${run.acked} acknowledged bytes`);
    if (!isPrefix(held, run.bytes)) throw new Error(`${id} holds other bytes than were sent`);
  }

  private async counters(sql: SQL): Promise<void> {
    const rows: { live: unknown; bytes: unknown; n: unknown; sum: unknown }[] = await sql`
      SELECT c.live, c.bytes, (SELECT COUNT(*) FROM recordings r WHERE r.app = c.app) AS n,
        (SELECT COALESCE(SUM(r.size_in_bytes), 0) FROM recordings r WHERE r.app = c.app) AS sum FROM recording_counters c`;
    for (const { live, bytes, n, sum } of rows)
      if (Number(live) !== Number(n) || Number(bytes) !== Number(sum))
        throw new Error(`${n} recordings with ${sum} bytes are counted as ${live} with ${bytes}`);
  }

  /** At the end: the storage has the files of the listed recordings, and nothing else. */
  async contents(sql: SQL): Promise<void> {
    await this.look(sql);
    const left: unknown[] = await sql`
      SELECT id, bytes, finished, ended, tries FROM uploads UNION ALL SELECT id, 0, 0, 0, 0 FROM files_to_remove`;
    if (left.length > 0) throw new Error(`rows are left: ${JSON.stringify(left)}`);
    const listed: Row[] = await sql`SELECT id, app, file FROM recordings`;
    const wanted = listed.map(({ app, id, file }) => this.path(app, file ?? id)).sort();
    const { runs, storage, unfinished } = this.parts;
    const parts = unfinished === undefined ? [] : filesIn(unfinished);
    if (parts.length > 0) throw new Error(`${parts.length} parts of multipart uploads are left: ${parts}`);
    const found = filesIn(storage).filter((path) => !path.includes("/quarantine/") && !path.includes(MARK_NAME));
    const extra = found.filter((path) => !wanted.includes(path));
    if (extra.length > 0 || found.length !== wanted.length)
      throw new Error(`${found.length} files, and ${wanted.length} recordings: ${extra}`);
    // What was deleted between the completion of its file and the note of that is set aside for some days.
    for (const path of filesIn(join(storage, "quarantine")))
      if (runs.all.get(path.slice(-24))?.deleted === false) throw new Error(`${path} is in quarantine`);
  }

  private path(app: string, id: string): string {
    const { storage, isBucket } = this.parts;
    return isBucket ? join(storage, "recordings", app, id) : join(storage, "files", app, id.slice(-2), id);
  }

  private sizeOf(app: string, id: string): number | undefined {
    return statSync(this.path(app, id), { throwIfNoEntry: false })?.size;
  }

  private fileOf(app: string, id: string, onlySize: boolean): Uint8Array | number | undefined {
    return onlySize ? this.sizeOf(app, id) : read(this.path(app, id));
  }
}

const isPrefix = (bytes: Uint8Array, of: Uint8Array): boolean =>
  Buffer.compare(bytes, of.subarray(0, bytes.length)) === 0;

function read(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** Files and folders; nothing if there is no such folder. */
export const everythingIn = (folder: string): string[] => entriesIn(folder).map(pathOf);

const filesIn = (folder: string): string[] =>
  entriesIn(folder)
    .filter((entry) => entry.isFile())
    .map(pathOf)
    .sort();

const entriesIn = (folder: string): Dirent[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
const pathOf = (entry: Dirent): string => join(entry.parentPath, entry.name);
