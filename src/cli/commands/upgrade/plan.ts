/** What a start of this version would do with a store, found without changing it. */
import { join } from "node:path";
import { postgresHistorySchema } from "../../../history/postgres/schema.ts";
import { HISTORY_SCHEMA } from "../../../history/sqlite/file.ts";
import { foundHistory } from "../../../history/sqlite/found.ts";
import { lackOfRoomForHistory } from "../../../history/sqlite/upgrade.ts";
import { type CopiedStore, copiesFolder, copyName, freeForCopies, lackOfRoom } from "../../../store/before-upgrade.ts";
import { foundEmbedded, foundPostgres } from "../../../store/found.ts";
import { migrationsAfter, schemaVersion } from "../../../store/migrate.ts";
import { type Running, runningOn } from "./running.ts";

export interface Copy {
  readonly file: string;
  readonly bytes: number;
  readonly freeBytes: number;
  /** Why there is no room for it, as a clause. */
  readonly lack: string | undefined;
}

export interface SchemaChange {
  /** 0: there is none yet. */
  readonly schema: number;
  readonly schemaAfter: number;
  /** undefined: nothing is copied. */
  readonly copy: Copy | undefined;
}

export interface Plan {
  /** Where the store is, for people. */
  readonly place: string;
  /** As the store notes it; undefined: it was 0.1.0, or none. */
  readonly version: string | undefined;
  readonly store: SchemaChange & { readonly migrations: readonly string[] };
  readonly history: SchemaChange;
  readonly running: Running;
  /** How much the store has, with PostgreSQL the whole database. */
  readonly bytes: number;
  /** Why a start of this version would fail. */
  readonly problems: readonly string[];
}

export const isUpgrade = ({ schema, schemaAfter }: SchemaChange): boolean => schema > 0 && schema < schemaAfter;

export function embeddedPlan(dataFolder: string): Plan {
  const found = foundEmbedded(dataFolder);
  const history = foundHistory(dataFolder);
  const ofStore = changeOf(found.schema, schemaVersion(), () => ({
    ...copyOf(dataFolder, "parley", found),
    lack: lackOfRoom({ dataFolder, bytes: found.bytes }),
  }));
  const ofHistory = changeOf(history.schema, HISTORY_SCHEMA, () => ({
    ...copyOf(dataFolder, "history", history),
    lack: lackOfRoomForHistory(dataFolder, history.bytes),
  }));
  return {
    place: dataFolder,
    version: found.version,
    store: { ...ofStore, migrations: migrationsAfter(found.schema) },
    history: ofHistory,
    running: runningOn(dataFolder),
    bytes: found.bytes,
    problems: [
      ...newer("the store", ofStore),
      ...newer("history.sqlite", ofHistory),
      ...(found.notStarted === undefined ? [] : [found.notStarted]),
      ...(ofStore.copy?.lack === undefined ? [] : [`not enough space for the copy: ${ofStore.copy.lack}`]),
    ],
  };
}

export async function postgresPlan(url: string): Promise<Plan> {
  const { schema, historySchema, version, bytes, connections, notStarted } = await foundPostgres(url);
  const [store, history] = [changeOf(schema, schemaVersion()), changeOf(historySchema, postgresHistorySchema())];
  return {
    place: "PostgreSQL",
    version,
    store: { ...store, migrations: migrationsAfter(schema) },
    history,
    running:
      connections > 0
        ? { state: "running", who: `${connections} connections of servers to the database`, version: undefined }
        : { state: "stopped" },
    bytes,
    problems: [
      ...newer("the store", store),
      ...newer("the histories", history),
      ...(notStarted === undefined ? [] : [notStarted]),
    ],
  };
}

function changeOf(schema: number, schemaAfter: number, copy?: () => Copy): SchemaChange {
  const change = { schema, schemaAfter, copy: undefined };
  return isUpgrade(change) && copy ? { ...change, copy: copy() } : change;
}

function copyOf(
  dataFolder: string,
  store: CopiedStore,
  { schema, bytes }: { readonly schema: number; readonly bytes: number },
): Omit<Copy, "lack"> {
  return { file: join(copiesFolder(dataFolder), copyName(store, schema)), bytes, freeBytes: freeForCopies(dataFolder) };
}

const newer = (what: string, { schema, schemaAfter }: SchemaChange): string[] =>
  schema > schemaAfter
    ? [`${what} was written by a newer Parley: its schema is ${schema}, and this version knows ${schemaAfter}`]
    : [];
