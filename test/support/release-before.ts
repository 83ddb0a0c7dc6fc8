/** The release before this version, as a source tree beside this one: for upgrades, and for nodes of both versions in one cluster. */
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { IS_FULL } from "./slack.ts";

const PROJECT = join(import.meta.dir, "../..");
const CHANGELOG = readFileSync(join(PROJECT, "CHANGELOG.md"), "utf8");

export const BEFORE = "0.1.0";
/** CHANGELOG.md names it. */
export const [, BEFORE_COMMIT = ""] = /^## 0\.1\.0 .*\n[^#]*?\bcommit ([0-9a-f]{40})\b/m.exec(CHANGELOG) ?? [];

/** A clone without the whole history does not have it. */
const isThere =
  Bun.spawnSync(["git", "-C", PROJECT, "cat-file", "-e", `${BEFORE_COMMIT}^{commit}`], { stderr: "ignore" })
    .exitCode === 0;

/** Whether tests with the release before run: in full, where its commit is known. */
export const WITH_BEFORE = IS_FULL && isThere;

/** Unpacks it into a folder, with the packages of this tree; returns the file to run. Their versions are the same, or this throws. */
export async function unpackBefore(folder: string): Promise<string> {
  const clone = join(folder, BEFORE);
  mkdirSync(clone, { recursive: true });
  await Bun.$`git -C ${PROJECT} archive ${BEFORE_COMMIT} | tar -x -C ${clone}`.quiet();
  const [then, now] = [clone, PROJECT].map((tree) => dependenciesOf(tree));
  for (const [name, version] of Object.entries(then ?? {}))
    if (now?.[name] !== version)
      throw new Error(
        `${BEFORE} needs ${name} ${version}, and this tree has ${now?.[name]}: install its packages with npm ci`,
      );
  symlinkSync(join(PROJECT, "node_modules"), join(clone, "node_modules"));
  return join(clone, "src/main.ts");
}

function dependenciesOf(tree: string): Record<string, string> {
  const { dependencies } = JSON.parse(readFileSync(join(tree, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return dependencies;
}
