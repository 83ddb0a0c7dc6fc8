/**
 * Everything that Parley keeps. Backup, restore, move, retention and the deletion of an application work from this list. Tests compare it with the tables,
 * columns and files that exist, and with what is left of a deleted application: what is added later must join it.
 */
import { ACCESS_TABLES } from "./access-tables.ts";
import type { DurableTable } from "./entry.ts";
import { ROOM_TABLES } from "./room-tables.ts";
import { WEBHOOK_TABLES } from "./webhook-tables.ts";

export type { DurableTable, Moved } from "./entry.ts";
export { HISTORY_TABLES, POSTGRES_HISTORY_TABLES } from "./history-tables.ts";

/** Tables of the store: the same in SQLite and in PostgreSQL. Those that others refer to come first. */
export const STORE_TABLES: readonly DurableTable[] = [...ACCESS_TABLES, ...ROOM_TABLES, ...WEBHOOK_TABLES];
