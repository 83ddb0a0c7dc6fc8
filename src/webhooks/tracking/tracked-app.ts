/** One application whose connections or members this node keeps as rows. */
import type { AppId } from "../../base/ids.ts";
import type { LeftMember, MemberRow, OpenedConnection, TrackedKind } from "../../store/contract/tracking.ts";
import type { Asked } from "./asked.ts";
import { BATCH_ROWS, COUNTED_EVERY_MS, COUNTED_FROM, LEAVE_HELD_MS, TRACKED_ROWS_MAX } from "./limits.ts";
import { Pending } from "./pending.ts";
import type { MemberName, TrackingSource } from "./source.ts";

/** What was there before, and is written some rows at a time. */
interface Scan {
  /** It makes no events. */
  readonly isKnown: boolean;
  readonly connections?: Iterator<OpenedConnection>;
  readonly members?: Iterator<MemberName>;
  /** Rows from when someone asked before are removed first: they were not kept up to date since. */
  clears: TrackedKind | undefined;
}

/** What one transaction is made of. It is written again, as it is, until the store has answered. */
export interface Batch {
  readonly tracked: TrackedApp;
  readonly isKnown: boolean;
  readonly opened: readonly OpenedConnection[];
  readonly closed: ReturnType<Pending["takeClosed"]>;
  readonly members: readonly MemberName[];
  readonly clears: TrackedKind | undefined;
}

export class TrackedApp {
  readonly pending: Pending;
  /** Bound: one per change of what is asked, and per beginning; each has an entry per connection or member of this node. */
  private readonly scans: Scan[] = [];
  /** Rows of all nodes when they were last counted, and those that this node has added since. */
  private rows = 0;
  private added = 0;
  private countedMs: number | undefined;
  isFull = false;

  constructor(
    readonly app: AppId,
    private readonly source: TrackingSource,
    public asked: Asked,
  ) {
    this.pending = new Pending(app);
  }

  get isIdle(): boolean {
    return this.pending.size === 0 && this.scans.length === 0;
  }

  /** Someone asks for connections who did not before: those that are there make no events. */
  askConnections(): void {
    this.scanConnections(true, "connections");
  }

  askMembers(): void {
    this.scanMembers(true, this.asked.covers, "members");
  }

  private scanConnections(isKnown: boolean, clears?: TrackedKind): void {
    this.scans.push({ isKnown, connections: this.source.connections(this.app), clears });
  }

  scanMembers(isKnown: boolean, isAsked: (channel: string) => boolean, clears?: TrackedKind): void {
    this.scans.push({ isKnown, members: this.source.members(this.app, isAsked), clears });
  }

  /** This node writes all of its rows again, under another name. What was still to be written as known stays so. */
  begin(): void {
    const known = this.scans.filter(({ isKnown }) => isKnown);
    const isKnown = { connections: known.some((one) => one.connections), members: known.some((one) => one.members) };
    this.scans.length = 0;
    this.pending.clear();
    if (this.asked.connections) this.scanConnections(isKnown.connections);
    if (this.asked.members) this.scanMembers(isKnown.members, this.asked.covers);
  }

  /** What is pending goes before scans, which may take long, but behind the removal of earlier rows. */
  take(): Batch | undefined {
    const { pending, scans } = this;
    const clearing = scans.find(({ clears }) => clears !== undefined);
    if (clearing) return this.takeOf(clearing);
    const opened = pending.takeOpened(BATCH_ROWS);
    const closed = pending.takeClosed(BATCH_ROWS - opened.length);
    const members = pending.takeMembers(BATCH_ROWS - opened.length - closed.length);
    if (opened.length + closed.length + members.length > 0)
      return { tracked: this, isKnown: false, opened, closed, members, clears: undefined };
    const [scan] = scans;
    return scan && this.takeOf(scan);
  }

  private takeOf(scan: Scan): Batch {
    const opened = scan.connections ? next(scan.connections) : [];
    const members = scan.members ? next(scan.members) : [];
    const { isKnown, clears } = scan;
    scan.clears = undefined;
    if (opened.length + members.length < BATCH_ROWS) this.scans.splice(this.scans.indexOf(scan), 1);
    return { tracked: this, isKnown, opened, closed: [], members, clears };
  }

  /** What is so now. `isLast`: the node stops; those that are expected back stay for as long as they are. */
  membersOf({ members }: Batch, nowMs: number, isLast: boolean): TrackedMembers {
    const { app } = this;
    const found: TrackedMembers = { members: [], left: [] };
    for (const { channel, peerId } of members) {
      const shown = this.asked.covers(channel) ? this.source.member(app, { channel, peerId }) : undefined;
      const isExpected = shown?.expectedMs !== undefined;
      if (shown && !(isLast && isExpected))
        found.members.push({ app, channel, peerId, metadataJson: shown.metadataJson, since: nowMs });
      else found.left.push({ app, channel, peerId, afterMs: Math.max(LEAVE_HELD_MS, shown?.expectedMs ?? 0) });
    }
    return found;
  }

  mustCount(nowMs: number): boolean {
    const { countedMs, rows, added } = this;
    return countedMs === undefined || rows + added > COUNTED_FROM || nowMs - countedMs > COUNTED_EVERY_MS;
  }

  counted(rows: number, nowMs: number): void {
    this.rows = rows;
    this.added = 0;
    this.countedMs = nowMs;
    this.isFull = rows >= TRACKED_ROWS_MAX;
  }

  /** How many more rows there may be. */
  get room(): number {
    return Math.max(0, TRACKED_ROWS_MAX - this.rows - this.added);
  }

  add(rows: number): void {
    this.added += rows;
  }
}

interface TrackedMembers {
  readonly members: MemberRow[];
  readonly left: LeftMember[];
}

function next<T>(all: Iterator<T>): T[] {
  const found: T[] = [];
  while (found.length < BATCH_ROWS) {
    const one = all.next();
    if (one.done) break;
    found.push(one.value);
  }
  return found;
}
