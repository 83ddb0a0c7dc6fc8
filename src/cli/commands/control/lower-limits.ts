/** What lower limits of an application delete. */

/** null: without a limit. Absent: unknown, because the server is of an earlier version; or unchanged. */
export interface Limits {
  readonly retentionDays?: number | null | undefined;
  readonly meetingRetentionDays?: number | undefined;
  readonly maxHistoryBytes?: number | undefined;
}

const DELETED: readonly (readonly [keyof Limits, (limit: number) => string])[] = [
  ["retentionDays", (days) => `recordings that were completed more than ${days} days ago`],
  ["meetingRetentionDays", (days) => `meetings that ended more than ${days} days ago`],
  ["maxHistoryBytes", (bytes) => `the oldest stored messages beyond ${bytes} bytes`],
];

export const changesLimits = (wanted: Limits): boolean => DELETED.some(([name]) => wanted[name] !== undefined);

/** For a sentence; [] if nothing is deleted. */
export const deletedBy = (wanted: Limits, present: Limits): string[] =>
  DELETED.flatMap(([name, text]) => {
    const limit = wanted[name];
    return limit != null && limit < (present[name] ?? Number.POSITIVE_INFINITY) ? [text(limit)] : [];
  });
