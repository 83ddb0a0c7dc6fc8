/** Control plane: how backups are set up, what became of the last ones, and which are kept. */
import { z } from "zod";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { BackupNote } from "../../durable/schedule/note.ts";
import type { BackupService, Making } from "../../durable/schedule/service.ts";
import type { Backup } from "../../durable/targets/target.ts";
import { toSeconds, toSecondsOrNull, unixSeconds } from "../shared/schemas.ts";

export const keptBackup = lazily(() =>
  z
    .object({ name: z.string(), bytes: z.int(), at: unixSeconds().describe("When it was begun") })
    .meta({ id: "Backup" }),
);

export const keptFields = ({ name, bytes, timeMs }: Backup): Infer<typeof keptBackup> => ({
  name,
  bytes,
  at: toSeconds(timeMs),
});

const making = lazily(() =>
  z.object({
    since: unixSeconds(),
    isHere: z.boolean().describe("false: another node makes it"),
    bytes: z.int().nullable().describe("Copied so far; null: the node that makes it has not said"),
    total: z.int().nullable().describe("About how many there will be"),
  }),
);

/** What only role admin gets is null for the role read: names, places, and texts that have a place in them. */
export const backupState = lazily(() =>
  z
    .object({
      target: z
        .object({
          kind: z.enum(["folder", "bucket"]),
          place: z.string().nullable().describe("Without credentials; null for the role read"),
          isInDataFolder: z.boolean().describe("It is lost if the service's disk fails"),
        })
        .nullable()
        .describe("PARLEY_BACKUP_TO; null: not set"),
      everySeconds: z.int().nullable().describe("PARLEY_BACKUP_EVERY; null: none are scheduled"),
      nextAt: unixSeconds().nullable().describe("When the next one is due; null: none are scheduled"),
      health: z
        .enum(["ok", "failed", "late"])
        .nullable()
        .describe("late: none has succeeded for twice everySeconds; null: none are scheduled"),
      keep: z.int().describe("PARLEY_BACKUP_KEEP"),
      isEncrypted: z.boolean().describe("PARLEY_BACKUP_KEY is set"),
      hasRecordings: z.boolean().describe("PARLEY_BACKUP_RECORDINGS"),
      hasDatabase: z.boolean().describe("false: the store is in PostgreSQL, and needs pg_dump"),
      making: making().nullable().describe("The one that is being made"),
      lastSuccess: z
        .object({
          at: unixSeconds().describe("The moment that it shows"),
          name: z.string().nullable().describe("null for the role read"),
          bytes: z.int(),
          seconds: z.number().describe("How long it took"),
          missing: z.int().describe("Recordings without a file, which are not in it"),
        })
        .nullable(),
      lastFailure: z
        .object({ at: unixSeconds(), why: z.string().nullable().describe("null for the role read") })
        .nullable(),
      failures: z.int().describe("How many have failed since the last success"),
      lastSent: unixSeconds().nullable().describe("When an operator last got one as it was made (parley backup)"),
      notRemoved: z.string().nullable().describe("Why old ones could not be deleted; null for the role read"),
      data: z.array(keptBackup()).nullable().describe("Those that are kept, newest first; null for the role read"),
      problem: z.string().nullable().describe("Why they cannot be listed; null for the role read"),
    })
    .meta({ id: "Backups" }),
);

export interface BackupSettings {
  readonly keep: number;
  readonly isEncrypted: boolean;
  readonly hasRecordings: boolean;
  readonly hasDatabase: boolean;
}

/** What every operator may know. */
export async function commonState(
  service: Pick<BackupService, "target" | "health" | "note" | "making">,
  settings: BackupSettings,
): Promise<Infer<typeof backupState>> {
  const note = await service.note();
  const { target, health } = service;
  const dueMs = target?.schedule.dueMs;
  return {
    target: target ? { kind: target.place.kind, place: null, isInDataFolder: target.place.isInDataFolder } : null,
    everySeconds: target && dueMs !== undefined ? target.everySeconds : null,
    nextAt: toSecondsOrNull(dueMs ?? null),
    health: health ?? null,
    ...settings,
    making: makingFields(await service.making()),
    ...noteFields(note),
    notRemoved: null,
    data: null,
    problem: null,
  };
}

/** What role admin gets besides. */
export async function adminState(
  service: Pick<BackupService, "target" | "note" | "listing">,
  common: Infer<typeof backupState>,
): Promise<Infer<typeof backupState>> {
  const [{ backups, problem }, { success, failure, notRemoved }] = await Promise.all([
    service.listing(),
    service.note(),
  ]);
  const { lastSuccess, lastFailure, target } = common;
  return {
    ...common,
    target: target && { ...target, place: service.target?.place.shown ?? null },
    lastSuccess: lastSuccess && { ...lastSuccess, name: success?.name ?? null },
    lastFailure: lastFailure && { ...lastFailure, why: failure?.why ?? null },
    notRemoved,
    data: backups.map(keptFields).reverse(),
    problem,
  };
}

const noteFields = ({ success, failure, failures, sentMs }: BackupNote) => ({
  lastSuccess: success && {
    at: toSeconds(success.atMs),
    name: null,
    bytes: success.bytes,
    seconds: Math.round(success.durationMs) / 1000,
    missing: success.missing,
  },
  lastFailure: failure && { at: toSeconds(failure.atMs), why: null },
  failures,
  lastSent: toSecondsOrNull(sentMs),
});

const makingFields = (found: Making | undefined): Infer<typeof making> | null =>
  found
    ? {
        since: toSeconds(found.sinceMs),
        isHere: found.isHere,
        bytes: found.progress?.bytes ?? null,
        total: found.progress?.total ?? null,
      }
    : null;
