/** The files of deploy/, as text and parsed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const PROJECT = join(import.meta.dir, "../../..");

export const read = (path: string): string => readFileSync(join(PROJECT, path), "utf8");

export const filesOf = (folder: string): string[] => [
  ...new Bun.Glob(`${folder}/**`).scanSync({ cwd: PROJECT, dot: true, onlyFiles: true }),
];

/** Every document of a YAML file. */
export function documents<T = Record<string, unknown>>(path: string): T[] {
  const parsed = Bun.YAML.parse(read(path));
  return (Array.isArray(parsed) ? parsed : [parsed]) as T[];
}

/** NAME=value lines, including commented-out ones; the rest are comments. */
export function assignments(text: string): [name: string, value: string][] {
  return [...text.matchAll(/^#?([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
}

/** Replaces exactly one occurrence: a change without effect would not test anything. */
export function changed(text: string, ...changes: readonly (readonly [from: string | RegExp, to: string])[]): string {
  return changes.reduce((whole, [from, to]) => {
    const places = whole.split(from).length - 1;
    if (places !== 1) throw new Error(`${from} stands ${places} times in the file`);
    return whole.replace(from, () => to);
  }, text);
}
