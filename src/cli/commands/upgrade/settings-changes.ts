/** Settings that this version has and an earlier one had not, and the other way around. */
import { SETTINGS } from "../../../config/settings.ts";
import type { Release } from "./releases.ts";

export interface SettingChanges {
  /** Variables that are new. */
  readonly added: readonly string[];
  /** Variables that are set and have no effect any more. */
  readonly gone: readonly string[];
}

export function settingChanges(
  { settings: before }: Pick<Release, "settings">,
  env: Readonly<Record<string, string | undefined>>,
  now: readonly string[] = Object.values(SETTINGS).map((setting) => setting.env),
): SettingChanges {
  const had = new Set(before.map((name) => `PARLEY_${name}`));
  return {
    added: now.filter((name) => !had.has(name)).toSorted(),
    gone: [...had].filter((name) => !now.includes(name) && env[name]).toSorted(),
  };
}
