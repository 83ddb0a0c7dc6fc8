/** Created streams of the embedded history. Every call but a fork runs in one turn of the process that alone writes. */
import type { Database } from "bun:sqlite";
import type { SpaceId } from "../../../base/ids.ts";
import type {
  CreatedPage,
  CreatedStream,
  CreatedStreamStore,
  Creating,
  Creation,
  ListedProducer,
  ListedStream,
  StreamChange,
  StreamName,
  WriteBatch,
  Written,
} from "../../contract/created-streams.ts";
import { HistoryUnavailable, type Range } from "../../contract/history.ts";
import { ENDED_KEPT_MS, FORK_COPY_MAX_MS, PRODUCER_KEPT_MS, WRITER_KEPT_MS } from "../../contract/limits.ts";
import type { SqliteAppend } from "../stored/append.ts";
import type { SqliteRead } from "../stored/read.ts";
import type { SqliteRuns } from "../stored/runs.ts";
import { idsOf, type SqliteStreams } from "../stored/streams.ts";
import { SqliteCreate } from "./create.ts";
import { CreatedLists, inSlices, type ListRequest } from "./lists.ts";
import { CreatedRows, type Found, shown } from "./rows.ts";
import { SqliteWrite } from "./write.ts";

/** Rows that one step of `expire` removes. */
const STEP_ROWS = 64;
/** Streams that a call which visits all of an application's looks at in one turn. */
const VISIT_STREAMS = 200;

interface OpenedParts {
  readonly db: Database;
  readonly streams: SqliteStreams;
  readonly runs: SqliteRuns;
  readonly reading: SqliteRead;
  readonly appending: SqliteAppend;
  readonly wallMs: () => number;
  readonly retentionMs: () => number;
}

interface Named {
  readonly app: SpaceId;
  readonly channel: string;
}

/** The statements on an open file. */
export class OpenedCreated {
  readonly rows: CreatedRows;
  readonly writing: SqliteWrite;
  readonly lists: CreatedLists;
  readonly creating: SqliteCreate;
  private readonly producersOf;
  private readonly changed;
  private readonly ended;
  private readonly due;
  private readonly stuck;
  private readonly after;
  private readonly oldProducers;
  private readonly oldEnds;
  private readonly oldWriters;

  constructor(private readonly parts: OpenedParts) {
    const { db, streams } = parts;
    this.rows = new CreatedRows(db, streams, parts.wallMs);
    this.lists = new CreatedLists(db, (name) => this.usable(name));
    this.writing = new SqliteWrite({ ...parts, rows: this.rows });
    this.creating = new SqliteCreate({ ...parts, rows: this.rows, end: (found) => this.end(found) });
    this.producersOf = db.prepare<
      Omit<ListedProducer, "usedMs" | "id"> & { pid: string; used: number },
      [number, number]
    >("SELECT owner, pid, epoch, seq, used FROM producers WHERE stream = ? ORDER BY used DESC LIMIT ?");
    this.changed = db.prepare<Named, [number]>(
      "SELECT s.app, s.channel FROM created c JOIN streams s ON s.id = c.stream WHERE c.changed >= ?",
    );
    this.ended = db.prepare<Named, [number]>("SELECT app, channel FROM ended WHERE at >= ?");
    this.due = db.prepare<{ stream: number }, [number]>(
      `SELECT stream FROM created WHERE ends <= ? AND state = 'ready' ORDER BY ends LIMIT ${STEP_ROWS}`,
    );
    this.stuck = db.prepare<{ stream: number }, [number]>(
      `SELECT stream FROM created WHERE state = 'copying' AND made <= ? LIMIT ${STEP_ROWS}`,
    );
    this.after = db.prepare<Named, [string, string]>(
      `SELECT app, channel FROM streams WHERE app = ? AND channel > ? ORDER BY channel LIMIT ${VISIT_STREAMS}`,
    );
    this.oldProducers = db.prepare<undefined, [number]>(
      `DELETE FROM producers WHERE (stream, owner, pid) IN (SELECT stream, owner, pid FROM producers
        WHERE used < ? AND stream NOT IN (SELECT stream FROM created) LIMIT ${STEP_ROWS})`,
    );
    this.oldEnds = db.prepare<undefined, [number]>(
      `DELETE FROM ended WHERE (app, channel) IN (SELECT app, channel FROM ended WHERE at < ? LIMIT ${STEP_ROWS})`,
    );
    this.oldWriters = db.prepare<undefined, [number]>(
      `DELETE FROM writers WHERE id IN (SELECT id FROM writers WHERE used < ? LIMIT ${STEP_ROWS})`,
    );
  }

  /** `undefined`: it does not exist, or has expired. */
  usable({ spaceId, channel }: StreamName): Found | "gone" | undefined {
    const found = this.rows.find(spaceId, channel);
    const state = found ? this.rows.stateOf(found, this.parts.retentionMs()) : "none";
    if (state === "gone") return "gone";
    return state === "ready" ? found : undefined;
  }

  read({ row }: Found, range: Range): CreatedPage["page"] {
    return this.parts.reading.page(row, range);
  }

  use(found: Found): void {
    this.rows.use(found, this.parts.retentionMs());
  }

  /** Within a transaction: it is removed, or gone as long as it has forks. With the last fork, what it was a fork of goes too. */
  end(found: Found): void {
    if (this.rows.hasForks(found)) {
      this.rows.become(found, "gone");
      return this.rows.noteGone(found);
    }
    this.remove(found);
  }

  private remove(found: Found): void {
    const { row, created } = found;
    this.rows.remove(found);
    this.parts.streams.countDeleted(row);
    if (created.source !== null) this.removeIfLeft(created.source);
  }

  /** Removes what is gone and has no forks any more. */
  private removeIfLeft(stream: number): void {
    const row = this.parts.streams.findById(stream);
    const found = row && this.rows.of(row);
    if (found?.created.state === "gone" && !this.rows.hasForks(found)) this.remove(found);
  }

  delete(name: StreamName): "deleted" | "gone" | "not found" {
    const found = this.usable(name);
    if (found === "gone") return "gone";
    if (!found) return "not found";
    this.parts.db.transaction(() => this.end(found))();
    return "deleted";
  }

  producers({ spaceId, channel }: StreamName, limit: number): ListedProducer[] {
    const row = this.parts.streams.find(spaceId, channel);
    if (!row) return [];
    return this.producersOf
      .all(idsOf(row), limit)
      .map(({ owner, pid, epoch, seq, used }) => ({ owner, id: pid, epoch, seq, usedMs: used }));
  }

  changes(agoMs: number): StreamChange[] {
    const sinceMs = this.parts.wallMs() - agoMs;
    const names = [...this.changed.all(sinceMs), ...this.ended.all(sinceMs)];
    return names.map(({ app, channel }) => {
      const found = this.usable({ spaceId: app, channel });
      return { spaceId: app, channel, now: found && found !== "gone" ? shown(found) : undefined };
    });
  }

  /** The streams of one space behind this name. */
  channelsAfter(spaceId: SpaceId, channel: string): string[] {
    return this.after.all(spaceId, channel).map((row) => row.channel);
  }

  /** Removes them, also those with forks. */
  removeAll(spaceId: SpaceId, channels: readonly string[]): void {
    this.parts.db.transaction(() => {
      for (const channel of channels) {
        // Not there if it went with its last fork.
        const found = this.rows.find(spaceId, channel);
        if (found) this.remove(found);
      }
    })();
  }

  /** True: it did something, so there may be more. */
  expire(): boolean {
    const { db, retentionMs } = this.parts;
    const nowMs = retentionMs();
    const ids = [...this.due.all(nowMs), ...this.stuck.all(nowMs - FORK_COPY_MAX_MS)];
    db.transaction(() => {
      for (const { stream } of ids) {
        const row = this.parts.streams.findById(stream);
        const found = row && this.rows.of(row);
        if (found) this.end(found);
      }
    })();
    let removed = this.oldProducers.run(nowMs - PRODUCER_KEPT_MS).changes;
    removed += this.oldEnds.run(this.parts.wallMs() - ENDED_KEPT_MS).changes;
    removed += this.oldWriters.run(nowMs - WRITER_KEPT_MS).changes;
    return ids.length > 0 || removed > 0;
  }
}

/** In place of `applyRules` for callers in other processes, whose function cannot be called here. */
export interface StreamsByChannel {
  /** Some channels of a space that have streams, behind this one in their order; none: there are no more. */
  channelsAfter(spaceId: SpaceId, channel: string): Promise<readonly string[]>;
  /** Deletes these streams, also those with forks. */
  deleteAll(spaceId: SpaceId, channels: readonly string[]): Promise<void>;
}

/** Runs something on the open file; errors of the file become those of the contract. */
type Use = <T>(work: (opened: OpenedCreated) => T) => T;

export class SqliteCreatedStreams implements CreatedStreamStore, StreamsByChannel {
  constructor(private readonly on: Use) {}

  create = async (creation: Creation): Promise<Creating> => {
    const begun = this.on(({ creating }) => creating.begin(creation));
    if (!("target" in begun)) return begun;
    while (begun.at < begun.upTo) {
      // With its rule or its application.
      if (!this.on(({ creating }) => creating.copySome(begun)))
        throw new HistoryUnavailable("the fork or its source was removed while it was copied");
      await Bun.sleep(0);
    }
    return this.on(({ creating }) => creating.complete(begun, creation));
  };

  write = async (batch: WriteBatch): Promise<readonly Written[]> => this.on(({ writing }) => writing.writeAll(batch));

  settle = async (batch: WriteBatch): Promise<readonly Written[] | undefined> =>
    this.on(({ writing }) => writing.settle(batch));

  describe = async (name: StreamName): Promise<CreatedStream | "gone" | undefined> =>
    this.on((opened) => {
      const found = opened.usable(name);
      return found && found !== "gone" ? shown(found) : found;
    });

  read = async (name: StreamName, range: Range): Promise<CreatedPage | "gone" | undefined> =>
    this.on((opened) => {
      const found = opened.usable(name);
      return found && found !== "gone" ? { stream: shown(found), page: opened.read(found, range) } : found;
    });

  use = async (name: StreamName): Promise<void> =>
    this.on((opened) => {
      const found = opened.usable(name);
      if (found && found !== "gone") opened.use(found);
    });

  delete = async (name: StreamName): Promise<"deleted" | "gone" | "not found"> =>
    this.on((opened) => opened.delete(name));

  list = (spaceId: SpaceId, page: ListRequest): Promise<readonly ListedStream[]> =>
    inSlices(page, (slice) => this.on(({ lists }) => lists.some(spaceId, slice)));

  producers = async (name: StreamName, limit: number): Promise<readonly ListedProducer[]> =>
    this.on((opened) => opened.producers(name, limit));

  changes = async (agoMs: number): Promise<readonly StreamChange[]> => this.on((opened) => opened.changes(agoMs));

  async applyRules(spaceId: SpaceId, isStream: (channel: string) => boolean): Promise<void> {
    for (let after: string | undefined = ""; after !== undefined; ) {
      const channels: readonly string[] = await this.channelsAfter(spaceId, after);
      const over = channels.filter((channel) => !isStream(channel));
      if (over.length > 0) await this.deleteAll(spaceId, over);
      after = channels.at(-1);
      await Bun.sleep(0);
    }
  }

  channelsAfter = async (spaceId: SpaceId, channel: string): Promise<readonly string[]> =>
    this.on((opened) => opened.channelsAfter(spaceId, channel));

  deleteAll = async (spaceId: SpaceId, channels: readonly string[]): Promise<void> =>
    this.on((opened) => opened.removeAll(spaceId, channels));

  expire = async (): Promise<boolean> => this.on((opened) => opened.expire());
}
