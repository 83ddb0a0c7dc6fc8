/**
 * Names of backups: `parley-20261118T154330Z.backup`, in UTC, so that they sort by time. The second one of the same second is
 * `parley-20261118T154330Z_2.backup`, which sorts behind it.
 */
const FORM = /^parley-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:_([2-9]|[1-9]\d))?\.backup$/;
/** More than this in one second is a mistake. */
export const SAME_SECOND_MAX = 99;

export const isBackupName = (name: string): boolean => parsedName(name) !== undefined;

export function backupName(timeMs: number, number = 1): string {
  const time = new Date(timeMs).toISOString().replace(/[-:]|\.\d+/g, "");
  return `parley-${time}${number === 1 ? "" : `_${number}`}.backup`;
}

/** The name with that number, for the same second. */
export function numbered(name: string, number: number): string {
  const timeMs = parsedName(name)?.timeMs;
  if (timeMs === undefined) throw new Error("only names of backups are numbered");
  return backupName(timeMs, number);
}

/** undefined: it is not the name of a backup. */
export function parsedName(name: string): { readonly timeMs: number; readonly number: number } | undefined {
  const [, year, month, day, hour, minute, second, number = "1"] = FORM.exec(name) ?? [];
  const timeMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // A day that does not exist is another one, or none.
  const isReal = !Number.isNaN(timeMs) && backupName(timeMs, Number(number)) === name;
  return isReal ? { timeMs, number: Number(number) } : undefined;
}

/** Oldest first. */
export const byAge = (a: string, b: string): number => {
  const [one, other] = [parsedName(a), parsedName(b)];
  return (one?.timeMs ?? 0) - (other?.timeMs ?? 0) || (one?.number ?? 0) - (other?.number ?? 0);
};
