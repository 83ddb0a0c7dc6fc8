/** Everything that a move copies. */
import { StoreError } from "../../store/contract/store.ts";
import { MOVE_NOTES } from "../../store/moves.ts";
import { type DurableTable, HISTORY_TABLES, POSTGRES_HISTORY_TABLES, STORE_TABLES } from "../inventory/inventory.ts";
import type { Row, Table } from "./cells.ts";
import { historyToPostgres, historyToSqlite } from "./history-steps.ts";
import type { Side } from "./side.ts";
import type { Step } from "./step.ts";
import type { Pages, Reading } from "./tables.ts";

/** In the order in which rows refer to each other. */
export async function stepsOf(source: Side, target: Side, texts: Texts): Promise<readonly Step[]> {
  const history =
    target.engine === "postgres"
      ? historyToPostgres(source.history, target.history)
      : historyToSqlite(source.history, target.history);
  const steps = [...(await storeSteps(source, target)), ...history];
  return target.engine === "postgres" ? steps.map((step) => ({ ...step, source: () => texts.storable(step) })) : steps;
}

const STORE_GROUP = "store";

async function storeSteps(source: Side, target: Side): Promise<Step[]> {
  const moved = STORE_TABLES.filter(({ move }) => move === "rows");
  return Promise.all(
    moved.map(async ({ name, key }) => {
      const columns = await target.store.columnsOf(name);
      const names = (some: readonly { readonly name: string }[]): string =>
        some
          .map((one) => one.name)
          .sort()
          .join(", ");
      const there = await source.store.columnsOf(name);
      if (columns.length === 0 || names(columns) !== names(there))
        throw new StoreError(
          `the table ${name} of ${source.place} has the columns ${names(there)}, and that of ${target.place} ${names(columns)}: nothing was moved`,
        );
      const notes = MOVE_NOTES.map((note) => `'${note}'`).join(", ");
      const reading: Reading = {
        columns,
        from: name,
        key,
        ...(name === "meta" && { where: `name NOT IN (${notes})` }),
      };
      return {
        name,
        table: { name, columns, key },
        into: target.store,
        group: STORE_GROUP,
        source: () => source.store.pages(reading),
        target: () => target.store.pages(reading),
        count: async () => Number(await source.store.value(`SELECT COUNT(*) FROM ${name}`)),
      };
    }),
  );
}

/** Empties what the steps of a group write. Notes stay: they say that the copy is not complete. */
export async function clearGroup(steps: readonly Step[], group: string): Promise<void> {
  const of = steps.filter((step) => step.group === group && step.table.name !== "meta");
  const [first] = of;
  if (first) await first.into.clear(of.map(({ table }) => table.name));
}

/** Empties what belongs to processes of the store that was there before. */
export async function clearProcesses(target: Side): Promise<void> {
  const history = target.engine === "postgres" ? POSTGRES_HISTORY_TABLES : HISTORY_TABLES;
  const of = (tables: readonly DurableTable[]): string[] =>
    tables.filter(({ move, name }) => typeof move === "object" && !name.endsWith("migrations")).map(({ name }) => name);
  await target.store.clear(of(STORE_TABLES));
  await target.history.clear(of(history));
}

/** Texts that PostgreSQL cannot store: SQLite also stores U+0000. */
export class Texts {
  /** How many texts were changed. */
  changed = 0;

  async *storable({ source, table }: Step): Pages {
    for await (const page of source()) yield page.map((row) => (row.some(hasNul) ? this.without(row, table) : row));
  }

  private without(row: Row, { name, columns, key }: Table): Row {
    return row.map((cell, at) => {
      if (!hasNul(cell)) return cell;
      if (key.includes(columns[at]?.name ?? ""))
        throw new StoreError(
          `${name}: the ${columns[at]?.name} ${JSON.stringify(cell)} contains the character U+0000, which PostgreSQL cannot store: delete the entry with this name, then repeat the move`,
        );
      this.changed++;
      return cell.replaceAll("\0", "\uFFFD");
    });
  }
}

const hasNul = (cell: string | null): cell is string => cell?.includes("\0") === true;
