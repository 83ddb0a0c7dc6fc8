/** What Parley keeps, how much of it there is now, how long it stays and where that is changed: made from the inventory. */
import { type AppId, roomSpaceOf, spaceOf, streamSpaceOf } from "../../base/ids.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import { HistoryUnavailable } from "../../history/contract/history.ts";
import type { AmountStore } from "../../store/contract/amounts.ts";
import type { AppRow } from "../../store/contract/store.ts";
import { BUCKET_OBJECTS, DATA_FILES } from "../inventory/files.ts";
import { HISTORY_TABLES, STORE_TABLES } from "../inventory/inventory.ts";
import { type PageName, type PlaceId, SUBJECTS, type Subject } from "../inventory/subjects.ts";
import type { FolderAmounts } from "./folder.ts";
import { backupText, type Change, changesOf, deletionText, limitText, type View } from "./limit-texts.ts";

/** null: it is not counted, or cannot be read at the moment. */
export interface AmountNow {
  readonly count: number | null;
  readonly bytes: number | null;
  /** The numbers are estimates, or the least that there is. */
  readonly isAbout: boolean;
}

export interface SubjectNow {
  readonly id: string;
  readonly title: string;
  readonly holds: string;
  /** How long. */
  readonly kept: string;
  /** How much. */
  readonly limit: string;
  /** What is counted, in the singular or the plural as the number is; null: nothing is. */
  readonly counted: string | null;
  readonly now: AmountNow;
  readonly places: readonly PlaceId[];
  readonly change: readonly Change[];
  /** The page of the dashboard where it is seen. */
  readonly page: PageName | null;
  readonly backup: string;
  /** What happens to it when its application is deleted. */
  readonly deletion: string;
}

export interface PlaceNow {
  readonly id: PlaceId;
  readonly where: string;
  /** Bytes on disk, of all applications; null: it is not known. */
  readonly bytes: number | null;
  readonly isAbout: boolean;
}

export interface DataNow {
  /** Unix ms. */
  readonly measured: number;
  readonly places: readonly PlaceNow[];
  readonly data: readonly SubjectNow[];
}

export interface ReportParts {
  readonly amounts: AmountStore;
  readonly history: Pick<HistoryStore, "totals" | "usage">;
  readonly folder: () => FolderAmounts;
  /** Where each place is, without credentials. */
  readonly where: Readonly<Record<PlaceId, string>>;
  /** The store and the histories are files of the data folder. */
  readonly isEmbedded: boolean;
  /** What recordings and uploads of an application take. */
  readonly recorded: (app: AppId) => Promise<{ readonly bytes: number; readonly uploading: number }>;
  readonly setting: (name: string) => string;
  readonly nowMs: () => number;
}

const UNKNOWN: AmountNow = { count: null, bytes: null, isAbout: false };

const TABLES_COUNTED = SUBJECTS.flatMap(({ table }) => table ?? []);
const TABLES_COUNTED_OF_APP = SUBJECTS.flatMap(({ table, isOfApps }) => (isOfApps && table ? [table] : []));

/** The entry of the inventory that says how long a subject is kept. */
function mainOf({ main }: Subject) {
  const found =
    [...STORE_TABLES, ...HISTORY_TABLES].find(({ name }) => name === main) ??
    [...DATA_FILES, ...BUCKET_OBJECTS].find(({ paths }) => paths.includes(main));
  if (!found) throw new Error(`the inventory has no ${main}`);
  return found;
}

export function describe(subject: Subject, view: View): Omit<SubjectNow, "now" | "counted"> {
  const { id, title, holds, places, page = null } = subject;
  const { retention, backup, deletion } = mainOf(subject);
  return {
    id,
    title,
    holds,
    kept: limitText(retention.age, view),
    limit: limitText(retention.amount, view),
    places,
    change: changesOf([retention.age, retention.amount], view.app?.name),
    page,
    backup: backupText(backup),
    deletion: deletionText(deletion),
  };
}

const counted = (subject: Subject, view: View, now: AmountNow): SubjectNow => ({
  ...describe(subject, view),
  counted: subject.counted?.[now.count === 1 ? 0 : 1] ?? null,
  now,
});

export async function reportOfService(parts: ReportParts): Promise<DataNow> {
  const { amounts, history, setting, nowMs } = parts;
  const tables = await amounts.ofTables(TABLES_COUNTED);
  const recordedBytes = await amounts.recordedBytes();
  const messages = await orUnknown(async () => {
    const { messages: count, bytes, isAbout } = await history.totals();
    return { count, bytes, isAbout };
  });
  const files = parts.folder();
  const nowOf = ({ id, table }: Subject): AmountNow => {
    if (id === "messages") return messages;
    if (id === "secrets" || id === "copies") return { ...files[id], isAbout: false };
    const { count = null, bytes = null, isAbout = false } = (table ? tables.get(table) : undefined) ?? {};
    return { count, bytes: id === "recordings" ? recordedBytes : bytes, isAbout };
  };
  return {
    measured: nowMs(),
    places: [
      place(parts, "store", await amounts.bytes()),
      place(parts, "histories", parts.isEmbedded ? files.histories.bytes : messages.bytes, !parts.isEmbedded),
      place(parts, "recordings", recordedBytes),
      place(parts, "files", files.all.bytes),
    ],
    data: SUBJECTS.map((subject) => counted(subject, { setting }, nowOf(subject))),
  };
}

const place = ({ where }: ReportParts, id: PlaceId, bytes: number | null, isAbout = false): PlaceNow => ({
  id,
  where: where[id],
  bytes,
  isAbout,
});

export async function reportOfApp(app: AppRow, parts: ReportParts): Promise<DataNow> {
  const { amounts, history, recorded, setting, nowMs, where } = parts;
  const tables = await amounts.ofApp(app.id, TABLES_COUNTED_OF_APP);
  const { bytes: recordedBytes, uploading } = await recorded(app.id);
  const messages = await orUnknown(async () => {
    const [own, rooms] = [await history.usage(spaceOf(app.id)), await history.usage(roomSpaceOf(app.id))];
    return { count: own.messages + rooms.messages, bytes: own.bytes + rooms.bytes, isAbout: false };
  });
  const streams = await orUnknown(async () => {
    const { streams: count, bytes } = await history.usage(streamSpaceOf(app.id));
    return { count, bytes, isAbout: false };
  });
  const nowOf = ({ id, table }: Subject): AmountNow => {
    if (id === "messages") return messages;
    if (id === "streams") return streams;
    const { count = null, isAbout = false } = (table ? tables.get(table) : undefined) ?? {};
    const bytes = id === "recordings" ? recordedBytes : id === "uploads" ? uploading : null;
    return { count, bytes, isAbout };
  };
  const shown = SUBJECTS.filter(({ isOfApps }) => isOfApps);
  const places = new Set(shown.flatMap((subject) => subject.places));
  return {
    measured: nowMs(),
    places: [...places].map((id) => ({ id, where: where[id], bytes: null, isAbout: false })),
    data: shown.map((subject) => counted(subject, { setting, app }, nowOf(subject))),
  };
}

/** While histories cannot be read, the rest is still shown. */
async function orUnknown(read: () => Promise<AmountNow>): Promise<AmountNow> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof HistoryUnavailable) return UNKNOWN;
    throw error;
  }
}
