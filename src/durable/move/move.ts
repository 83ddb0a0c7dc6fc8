/**
 * Moves all durable state from one store to another. Rows are compared in the order of their keys, and what differs is written, so a move that
 * was killed is simply begun anew. A second walk over all rows, which must find no difference, verifies the copy.
 *
 * Neither store is ever complete and unmarked together with the other one: the copy is marked until it is verified, and then the source is
 * noted as moved before the mark is removed.
 */
import { randomUUID } from "node:crypto";
import { systemClock } from "../../base/clock.ts";
import { StoreError } from "../../store/contract/store.ts";
import { schemaVersion } from "../../store/migrate.ts";
import {
  INCOMPLETE_NOTE,
  type IncompleteNote,
  incompleteText,
  MOVED_NOTE,
  type MovedNote,
  movedText,
} from "../../store/moves.ts";
import { findMasterKey, type MasterKeyPlace } from "./master-key.ts";
import { hasTable, noteOf, putNote, type Side } from "./side.ts";
import type { Step } from "./step.ts";
import { clearGroup, clearProcesses, stepsOf, Texts } from "./steps.ts";
import { lastGivenId, lastStreamId, setLastStreamId } from "./stream-ids.ts";
import { RowsCollide } from "./tables.ts";
import { isEmpty, judgeTarget } from "./target.ts";
import { type Walked, walk } from "./walk.ts";

export interface Move {
  readonly source: Side;
  readonly target: Side;
  /** The data folder, where the master key may be. */
  readonly data: string;
  /** PARLEY_MASTER_KEY, or "". */
  readonly masterKey: string;
  /** What completes it if it is interrupted. */
  readonly command: string;
  /** Throws unless what the target holds may be replaced. */
  readonly replace: (holds: string) => Promise<void>;
  readonly watch?: MoveWatch;
}

export type Phase = "copying" | "checking";

export interface MoveWatch {
  /** `total` is about how many rows there are. */
  readonly progress?: (phase: Phase, table: string, rows: number, total: number) => void;
  /** A sentence for people. */
  readonly says?: (text: string) => void;
  readonly signal?: AbortSignal;
}

export interface MovedTable {
  /** Rows that are equal in both stores. */
  readonly rows: number;
  /** Rows that this run has written. */
  readonly written: number;
  /** Rows that this run has removed from the target. */
  readonly removed: number;
}

export interface Moved {
  readonly tables: Readonly<Record<string, MovedTable>>;
  /** Texts whose character U+0000 was replaced. */
  readonly changedTexts: number;
  readonly masterKey: MasterKeyPlace;
  readonly schema: number;
}

/** The signal came; running it anew continues. */
export class MoveInterrupted extends Error {
  constructor(
    readonly phase: Phase,
    readonly rows: number,
  ) {
    super("the move was interrupted");
  }
}

export async function move(options: Move): Promise<Moved> {
  const { source, target } = options;
  const { id, isReplaced } = await prepare(options);
  const texts = new Texts();
  const steps = await stepsOf(source, target, texts);
  await clearProcesses(target);
  if (isReplaced) for (const group of groupsOf(steps)) await clearGroup(steps, group);
  let total = 0;
  if (options.watch?.progress) for (const step of steps) total += await step.count();
  const copied = await new Walks(options, steps, "copying", total).all();
  await setLastStreamId(target, await lastStreamId(source));
  await target.settle();
  const changedTexts = texts.changed;
  const checked = await new Walks(options, steps, "checking", total).all();
  await refuseDifferences(options, checked);
  await finish(options, id);
  return {
    tables: Object.fromEntries(steps.map(({ name }) => [name, countsOf(copied.get(name), checked.get(name))])),
    changedTexts,
    masterKey: await findMasterKey(target, options.data, options.masterKey),
    schema: schemaVersion(),
  };
}

const groupsOf = (steps: readonly Step[]): ReadonlySet<string> => new Set(steps.map((step) => step.group));

const countsOf = (copied: Walked | undefined, checked: Walked | undefined): MovedTable => ({
  rows: checked?.rows ?? 0,
  written: copied?.put ?? 0,
  removed: copied?.dropped ?? 0,
});

interface Prepared {
  /** The id of the store. */
  readonly id: string;
  /** The target holds something else. */
  readonly isReplaced: boolean;
}

/** Everything that may refuse comes before the first change. */
async function prepare({ source, target, data, masterKey, command, replace, watch }: Move): Promise<Prepared> {
  await source.refuseUsers();
  await target.refuseUsers();
  refuseNewer(source);
  refuseNewer(target);
  if (await isEmpty(source)) throw new StoreError(`${source.place} is empty: there is nothing to move`);
  await findMasterKey(source, data, masterKey);
  const known = await noteOf(source, "store_id");
  const judged = await judgeTarget(target, known ?? "");
  await refuseSource(source, judged.state === "begun");
  if (judged.state === "other") await replace(judged.holds);
  for (const side of [source, target]) {
    if (side.schema > 0 && side.schema < schemaVersion())
      watch?.says?.(`upgrading ${side.place}: schema ${side.schema} → ${schemaVersion()}`);
    await side.upgrade();
  }
  // A store that no server of this version has used has no id yet.
  const id = known ?? randomUUID();
  if (known === undefined) await putNote(source, "store_id", id);
  const note: IncompleteNote = { source: id, from: source.place, command };
  await target.mark(note);
  return { id, isReplaced: judged.state === "other" };
}

function refuseNewer({ schema, place }: Side): void {
  if (schema > schemaVersion())
    throw new StoreError(
      `${place} was written by a newer Parley (its schema is ${schema}, this version knows ${schemaVersion()}): use that version`,
    );
}

/** `isBegun`: an earlier run has begun to copy it to this target. */
async function refuseSource(source: Side, isBegun: boolean): Promise<void> {
  const incomplete = await noteOf(source, INCOMPLETE_NOTE);
  if (incomplete !== undefined) throw new StoreError(incompleteText(JSON.parse(incomplete) as IncompleteNote));
  const moved = await noteOf(source, MOVED_NOTE);
  if (moved !== undefined && !isBegun) throw new StoreError(movedText(JSON.parse(moved) as MovedNote));
}

/** One walk over all tables. */
class Walks {
  /** Bound: tables. */
  private readonly done = new Map<string, Walked>();
  private rows = 0;

  constructor(
    private readonly options: Move,
    private readonly steps: readonly Step[],
    private readonly phase: Phase,
    private readonly total: number,
  ) {}

  async all(): Promise<ReadonlyMap<string, Walked>> {
    await this.lookAnew();
    for (const group of groupsOf(this.steps)) await this.group(group);
    return this.done;
  }

  private async lookAnew(): Promise<void> {
    await this.options.source.lookAnew();
    await this.options.target.lookAnew();
  }

  /** Rows collide only where the source has changed since an earlier run, or was another one: then what is there is removed first. */
  private async group(group: string): Promise<void> {
    const own = this.steps.filter((step) => step.group === group);
    const { rows } = this;
    try {
      for (const step of own) await this.step(step);
    } catch (error) {
      if (!(error instanceof RowsCollide)) throw error;
      await clearGroup(this.steps, group);
      await this.lookAnew();
      this.rows = rows;
      for (const step of own) await this.step(step);
    }
  }

  private async step(step: Step): Promise<void> {
    const { name, table, into, source, target, weight } = step;
    const seen = (rows: number): void => {
      this.rows += rows;
      this.options.watch?.progress?.(this.phase, name, this.rows, this.total);
      if (this.options.watch?.signal?.aborted) throw new MoveInterrupted(this.phase, this.rows);
    };
    const write = this.phase === "copying" ? into.apply.bind(into, table) : undefined;
    this.done.set(
      name,
      await walk({ table, source: source(), target: target(), weight, seen, ...(write && { write }) }),
    );
  }
}

async function refuseDifferences({ source, target }: Move, checked: ReadonlyMap<string, Walked>): Promise<void> {
  const different = [...checked].filter(([, { put, dropped }]) => put + dropped > 0);
  const isSameId = (await lastStreamId(source)) === (await lastGivenId(target));
  if (different.length === 0 && isSameId) return;
  const names = different.map(([name, { put, dropped }]) => `${name} (${put + dropped})`).join(", ");
  throw new StoreError(
    `the copy differs from ${source.place}: ${names || "the last id of a stream"}. Something wrote to one of the two during the move: stop it, then repeat the move`,
  );
}

/** Both are equal, and what was written is on the disk. */
async function finish({ source, target }: Move, id: string): Promise<void> {
  await source.refuseUsers();
  await target.refuseUsers();
  if ((await noteOf(target, "store_id")) !== id) throw new Error("the copy has another id");
  const note: MovedNote = { to: target.place, atMs: systemClock.wallMs() };
  // In this order: a kill in between leaves two stores that do not start, and never two that do.
  await putNote(source, MOVED_NOTE, JSON.stringify(note));
  await source.settle();
  await target.unmark();
  await target.settle();
}

/** Makes a store that was moved away usable as it was. Returns where it was moved to; undefined if it was not. */
export async function reopen(side: Side): Promise<string | undefined> {
  if (!(await hasTable(side, "meta"))) return undefined;
  const incomplete = await noteOf(side, INCOMPLETE_NOTE);
  if (incomplete !== undefined) throw new StoreError(incompleteText(JSON.parse(incomplete) as IncompleteNote));
  const moved = await noteOf(side, MOVED_NOTE);
  if (moved === undefined) return undefined;
  await side.unmark();
  await side.settle();
  return (JSON.parse(moved) as MovedNote).to;
}
