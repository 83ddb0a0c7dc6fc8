/** One of the two stores of a move: the durable state and the history, open and locked. */
import type { IncompleteNote } from "../../store/moves.ts";
import type { Table } from "./cells.ts";
import type { Tables } from "./tables.ts";

export type Role = "source" | "target";

export interface Side {
  readonly engine: "sqlite" | "postgres";
  /** For people: "the store in /var/lib/parley". */
  readonly place: string;
  readonly store: Tables;
  readonly history: Tables;
  /** The schema of the store; 0: there is none yet. */
  readonly schema: number;
  /** Brings the tables to the current schema; a missing store is made. Throws a StoreError if it was written by a newer Parley. */
  upgrade(): Promise<void>;
  /** From now on, pages show the rows as they are at this moment. */
  lookAnew(): Promise<void>;
  /** From now on, no server starts on it. */
  mark(note: IncompleteNote): Promise<void>;
  /** Returns when what was written would survive a power cut. */
  settle(): Promise<void>;
  unmark(): Promise<void>;
  /** Throws a StoreError if other processes use it. */
  refuseUsers(): Promise<void>;
  close(): Promise<void>;
}

const META: Table = {
  name: "meta",
  columns: [
    { name: "name", kind: "text" },
    { name: "value", kind: "text" },
  ],
  key: ["name"],
};

/** A note of the store. The table must exist. */
export const noteOf = ({ store }: Pick<Side, "store">, name: string): Promise<string | undefined> =>
  store.value("SELECT value FROM meta WHERE name = $1", name);

export const putNote = ({ store }: Pick<Side, "store">, name: string, value: string): Promise<void> =>
  store.apply(META, { put: [[name, value]], drop: [] });

export const removeNotes = ({ store }: Pick<Side, "store">, names: readonly string[]): Promise<void> =>
  store.apply(META, { put: [], drop: names.map((name) => [name, ""]) });

export const hasTable = async (side: Pick<Side, "store">, table: string): Promise<boolean> =>
  (await side.store.columnsOf(table)).length > 0;
