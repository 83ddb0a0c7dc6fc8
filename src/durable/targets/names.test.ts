import { expect, test } from "bun:test";
import { backupName, byAge, isBackupName, numbered, parsedName } from "./names.ts";

const TIME_MS = Date.UTC(2026, 10, 18, 15, 43, 30);

test("a name has the time in UTC, and the number of a later one in the same second", () => {
  const name = backupName(TIME_MS + 999);
  expect(name).toBe("parley-20261118T154330Z.backup");
  expect(parsedName(name)).toEqual({ timeMs: TIME_MS, number: 1 });
  expect(numbered(name, 12)).toBe("parley-20261118T154330Z_12.backup");
  expect(parsedName(numbered(name, 12))).toEqual({ timeMs: TIME_MS, number: 12 });
});

test("names are in the order of time, also as text", () => {
  const names = [
    backupName(0),
    backupName(TIME_MS),
    backupName(TIME_MS, 2),
    backupName(TIME_MS, 3),
    backupName(TIME_MS + 1000),
  ];
  expect(names.toReversed().sort()).toEqual(names);
  expect([...names.toReversed(), backupName(TIME_MS, 10)].sort(byAge)).toEqual(
    names.toSpliced(4, 0, backupName(TIME_MS, 10)),
  );
});

test.each([
  "parley-20261118T154330Z.backup.partial",
  "parley-20261118T154330Z_1.backup",
  "parley-20261118T154330Z_02.backup",
  "parley-20261318T154330Z.backup",
  "parley-20260231T154330Z.backup",
  "parley-20261118T154330.backup",
  "Parley-20261118T154330Z.backup",
  "a/parley-20261118T154330Z.backup",
  "parley-20261118T154330Z.backup\n",
  "",
])("%p is not the name of a backup", (name) => {
  expect(isBackupName(name)).toBe(false);
});
