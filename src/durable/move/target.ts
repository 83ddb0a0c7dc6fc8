/** Whether a target may be written to, and what is lost then. */
import { INCOMPLETE_NOTE, type IncompleteNote, MOVED_NOTE } from "../../store/moves.ts";
import { hasTable, noteOf, type Side } from "./side.ts";
import type { Tables } from "./tables.ts";

/** Names of applications that are listed. */
const NAMES_MAX = 5;

/**
 * `fresh`: there is nothing. `begun`: an earlier run of the same move has begun. `earlier`: the store was moved from here, and comes back. `other`: it
 * holds something else, which would be lost.
 */
export type TargetState =
  | { readonly state: "fresh" | "begun" | "earlier" }
  | { readonly state: "other"; readonly holds: string };

/** No server was ever started on it, and nothing was moved to it. */
export async function isEmpty(side: Side): Promise<boolean> {
  if (!(await hasTable(side, "meta"))) return true;
  for (const note of ["store_id", "first_run", INCOMPLETE_NOTE])
    if ((await noteOf(side, note)) !== undefined) return false;
  return Number(await side.store.value("SELECT COUNT(*) FROM apps")) === 0;
}

/** `source` is the id of the store that is moved. */
export async function judgeTarget(target: Side, source: string): Promise<TargetState> {
  if (await isEmpty(target)) {
    // In a data folder, the history is a file of its own.
    const isFilled = (await messagesIn(target)) > 0;
    return isFilled
      ? { state: "other", holds: await contentsOf(target, "a history without its store, with") }
      : { state: "fresh" };
  }
  const begun = await noteOf(target, INCOMPLETE_NOTE);
  if (begun !== undefined) {
    const { source: of, from } = JSON.parse(begun) as IncompleteNote;
    return of === source ? { state: "begun" } : { state: "other", holds: `an incomplete copy of ${from}` };
  }
  const id = await noteOf(target, "store_id");
  const isMoved = (await noteOf(target, MOVED_NOTE)) !== undefined;
  if (isMoved && id === source) return { state: "earlier" };
  return {
    state: "other",
    holds: await contentsOf(target, id === source ? "the same store, with" : "another store, with"),
  };
}

async function countIn(tables: Tables, table: string, value = "COUNT(*)", where = ""): Promise<number> {
  const exists = (await tables.columnsOf(table)).length > 0;
  return exists ? Number((await tables.value(`SELECT ${value} FROM ${table}${where}`)) ?? 0) : 0;
}

const messagesIn = ({ engine, history }: Side): Promise<number> =>
  countIn(history, engine === "postgres" ? "history_streams" : "streams", "SUM(top - low + 1)");

async function contentsOf(target: Side, what: string): Promise<string> {
  const { store } = target;
  const apps = await countIn(store, "apps", undefined, " WHERE deleted IS NULL");
  const names: string[] = [];
  for (let at = 0; at < Math.min(apps, NAMES_MAX); at++)
    names.push(
      (await store.value(`SELECT name FROM apps WHERE deleted IS NULL ORDER BY created, id LIMIT 1 OFFSET ${at}`)) ??
        "",
    );
  const more = apps > NAMES_MAX ? ", …" : "";
  const parts = [
    `${counted(apps, "application")}${names.length > 0 ? ` (${names.join(", ")}${more})` : ""}`,
    counted(await countIn(store, "rooms", undefined, " WHERE archived IS NULL"), "room"),
    counted(await countIn(store, "recordings"), "recording"),
    counted(await messagesIn(target), "stored message"),
  ];
  return `${what} ${parts.join(", ")}`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
