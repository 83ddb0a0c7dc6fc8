/** The embedded history: one file that this process alone uses. Every call runs in one turn. */
import { type Database, SQLiteError } from "bun:sqlite";
import { steplessClock, systemClock } from "../../base/clock.ts";
import type { AppId, SpaceId } from "../../base/ids.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import {
  type Appended,
  type Batch,
  type ChangedHeads,
  type HistoryStore,
  type HistoryTotals,
  HistoryUnavailable,
  type HistoryUsage,
  type Page,
  type Range,
  type StreamState,
} from "../contract/history.ts";
import { STREAMS_PER_APP_MAX } from "../contract/limits.ts";
import type { HistoryClocks } from "./clocks.ts";
import { OpenedCreated, SqliteCreatedStreams } from "./created/store.ts";
import { CHECKPOINT_PAGES, type HistoryFileOptions, isDamage, openHistoryFile, setAside } from "./file.ts";
import { SqliteAppend } from "./stored/append.ts";
import { SqliteRead } from "./stored/read.ts";
import { SqliteRuns } from "./stored/runs.ts";
import { idsOf, SqliteStreams, type StreamRow } from "./stored/streams.ts";
import { SqliteTrim } from "./trim.ts";

/** Streams that a call which visits all of an application's streams handles in one turn. */
const VISIT_STREAMS = 200;

export interface SqliteHistoryOptions extends HistoryFileOptions {
  readonly clocks?: HistoryClocks;
  /** For tests: instead of STREAMS_PER_APP_MAX. */
  readonly streamsMax?: number;
}

/** In place of `applyRules` for callers in other processes, whose function cannot be called here. */
export interface RulesByChannel {
  /** Some channels of an application that have streams, behind this one in their order; none: there are no more. */
  channelsAfter(spaceId: SpaceId, channel: string): Promise<readonly string[]>;
  /** As `applyRules`, for these channels: `undefined` means that a channel has no history any more. */
  applyTo(spaceId: SpaceId, keeps: ReadonlyMap<string, Retention | undefined>): Promise<void>;
}

/** An open file and the statements on it. */
interface Opened {
  readonly db: Database;
  readonly streams: SqliteStreams;
  readonly appending: SqliteAppend;
  readonly reading: SqliteRead;
  readonly trimming: SqliteTrim;
  readonly created: OpenedCreated;
  readonly channelsAfter: (spaceId: SpaceId, channel: string) => readonly { readonly channel: string }[];
}

export class SqliteHistory implements HistoryStore, RulesByChannel {
  readonly isShared = false;
  readonly created = new SqliteCreatedStreams((work) => this.use((opened) => work(opened.created)));
  private opened: Opened | undefined;
  /** What was open when the log began to keep all changes. */
  private inLog: Opened | undefined;
  private readonly clocks: HistoryClocks;
  /** Bound: registered at the start. */
  private readonly rewound: (() => void)[] = [];

  constructor(private readonly options: SqliteHistoryOptions) {
    this.clocks = options.clocks ?? systemClock;
    this.opened = this.openFile();
  }

  append = async (batch: Batch): Promise<readonly Appended[]> => this.appendAll([batch])[0] ?? [];

  /** As `append`, for several callers in one transaction. If it throws, each of them settles its batch. */
  appendAll(batches: readonly Batch[]): readonly (readonly Appended[])[] {
    return this.use(({ appending }) => appending.appendAll(batches));
  }

  settle = async (batch: Batch): Promise<readonly Appended[] | undefined> =>
    this.use(({ appending }) => appending.settle(batch));

  open = async (spaceId: SpaceId, channel: string, keep: Retention): Promise<StreamState> =>
    this.use(({ db, streams }) => {
      const nowMs = this.clocks.wallMs();
      const found = streams.find(spaceId, channel);
      const row = db.transaction(() => {
        const opened = found ?? streams.insert(spaceId, channel, keep, nowMs);
        streams.keep(opened, keep);
        streams.use(opened, nowMs);
        return opened;
      })();
      if (!found) streams.count(spaceId, 1, 0, 0, 0);
      return streams.state(row, this.clocks.retentionMs());
    });

  read = async (spaceId: SpaceId, channel: string, range: Range): Promise<Page | undefined> =>
    this.use(({ streams, reading }) => {
      const row = streams.find(spaceId, channel);
      return row && reading.page(row, range);
    });

  heads = async (agoMs: number): Promise<ChangedHeads> =>
    this.use(({ reading }) => ({ heads: reading.heads(this.clocks.wallMs() - agoMs), openMs: 0 }));

  remove = async (spaceId: SpaceId, channel: string): Promise<boolean> =>
    this.use(({ db, streams }) => {
      const row = streams.find(spaceId, channel);
      if (!row) return false;
      // The new stream begins at once, so that `heads` shows its epoch to those who watch the channel.
      const keep = { messages: row.keep_messages, seconds: row.keep_ms / 1000 };
      db.transaction(() => {
        streams.deleteRow(row);
        streams.insert(spaceId, channel, keep, this.clocks.wallMs(), idsOf(row));
      })();
      streams.countDeleted(row, 0);
      return true;
    });

  applyRules = (spaceId: SpaceId, keep: (channel: string) => Retention | undefined): Promise<void> =>
    this.visit(spaceId, applying(keep));

  channelsAfter = async (spaceId: SpaceId, channel: string): Promise<readonly string[]> =>
    this.use((opened) => opened.channelsAfter(spaceId, channel).map((row) => row.channel));

  applyTo = async (spaceId: SpaceId, keeps: ReadonlyMap<string, Retention | undefined>): Promise<void> => {
    this.use((opened) =>
      changeStreams(
        opened,
        spaceId,
        [...keeps.keys()],
        applying((channel) => keeps.get(channel)),
      ),
    );
  };

  removeSpace = (spaceId: SpaceId): Promise<void> =>
    this.visit(spaceId, ({ streams }, row) => {
      streams.deleteRow(row);
      return true;
    });

  usage = async (spaceId: SpaceId): Promise<HistoryUsage> => this.use(({ streams }) => streams.usage(spaceId));

  totals = async (): Promise<HistoryTotals> => this.use(({ streams }) => ({ ...streams.all(), isAbout: false }));

  trim = async (maxBytesOf: (app: AppId) => number): Promise<boolean> =>
    this.use(({ trimming }) => trimming.trim(maxBytesOf));

  /**
   * The file has every message now, and stays as it is: later ones are kept in its log until `writeToFile`, so that it can be copied while it
   * is used. Runs in one turn.
   */
  keepInLog(): void {
    this.use(({ db }) => {
      db.run("PRAGMA wal_autocheckpoint = 0");
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    this.inLog = this.opened;
  }

  /** Copies what the log has into the file, and goes on doing so. False: the file was replaced meanwhile, because it was damaged. */
  writeToFile(): boolean {
    const isSame = this.inLog === this.opened;
    this.inLog = undefined;
    this.use(({ db }) => {
      db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    return isSame;
  }

  onRewound(listener: () => void): void {
    this.rewound.push(listener);
  }

  async close(): Promise<void> {
    this.opened?.db.close();
    this.opened = undefined;
  }

  /** Calls `change` for every stream of an application, some per turn. */
  private async visit(spaceId: SpaceId, change: StreamChange): Promise<void> {
    let from = "";
    for (;;) {
      const rows = this.use((opened) =>
        changeStreams(
          opened,
          spaceId,
          opened.channelsAfter(spaceId, from).map(({ channel }) => channel),
          change,
        ),
      );
      if (rows.length < VISIT_STREAMS) return;
      from = rows.at(-1)?.channel ?? from;
      await Bun.sleep(0);
    }
  }

  /** Runs `work` on the open file. Errors of the file become those of the contract. */
  private use<T>(work: (opened: Opened) => T): T {
    const { opened } = this;
    if (!opened) throw new HistoryUnavailable("the history is closed");
    try {
      return work(opened);
    } catch (error) {
      if (isDamage(error)) this.beginAnew(error);
      if (error instanceof SQLiteError) throw new HistoryUnavailable(error.message, { cause: error });
      throw error;
    }
  }

  /** The file was found to be damaged while in use: what it held is lost to clients, and later messages go to a new file. */
  private beginAnew(damage: SQLiteError): void {
    this.opened?.db.close();
    this.opened = undefined;
    if (this.options.path !== ":memory:") this.options.setAside(setAside(this.options.path, damage));
    this.opened = this.openFile();
    for (const listener of this.rewound) listener();
  }

  private openFile(): Opened {
    const db = openHistoryFile(this.options);
    const { wallMs, monotonicMs, retentionMs } = this.clocks;
    // The newest: this clock does not go back.
    const lastId = db.query<{ time: number }, []>("SELECT time FROM ids ORDER BY seq DESC LIMIT 1").get();
    const idMs = steplessClock(wallMs, monotonicMs, lastId?.time ?? 0);
    const runs = new SqliteRuns(db);
    const streams = new SqliteStreams(db, runs);
    const { streamsMax = STREAMS_PER_APP_MAX } = this.options;
    const trimming = new SqliteTrim({ db, streams, runs, retentionMs, idMs, streamsMax });
    const appending = new SqliteAppend({
      db,
      streams,
      runs,
      wallMs,
      idMs,
      overfull: (stream) => trimming.noteOverfull(stream),
    });
    const channels = db.prepare<{ channel: string }, [string, string]>(
      `SELECT channel FROM streams WHERE app = ? AND channel > ? ORDER BY channel LIMIT ${VISIT_STREAMS}`,
    );
    const channelsAfter = (spaceId: SpaceId, channel: string) => channels.all(spaceId, channel);
    const reading = new SqliteRead(db, streams, runs, retentionMs);
    const created = new OpenedCreated({ db, streams, runs, reading, appending, wallMs, retentionMs });
    return { db, streams, appending, reading, trimming, created, channelsAfter };
  }
}

/** Returns whether it has removed the stream. */
type StreamChange = (opened: Opened, row: StreamRow) => boolean;

const applying =
  (keep: (channel: string) => Retention | undefined): StreamChange =>
  ({ streams }, row) => {
    const now = keep(row.channel);
    if (now) streams.keep(row, now);
    else streams.deleteRow(row);
    return now === undefined;
  };

/** Calls `change` for the streams of these channels, in one transaction. */
function changeStreams(
  opened: Opened,
  spaceId: SpaceId,
  channels: readonly string[],
  change: StreamChange,
): StreamRow[] {
  const { db, streams } = opened;
  const found = channels.map((channel) => streams.find(spaceId, channel)).filter((row) => row !== undefined);
  const removed = db.transaction(() => found.filter((row) => change(opened, row)))();
  for (const row of removed) streams.countDeleted(row);
  return found;
}
