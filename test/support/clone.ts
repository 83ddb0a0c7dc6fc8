/** The project as a new user has it: the files of a fresh clone, and only the packages that `npm start` installs. */
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { must } from "./namespaces.ts";

const PROJECT = join(import.meta.dir, "../..");

/** What would be committed now, so that a change is tried before it is. */
export async function cloneInto(folder: string): Promise<void> {
  const files = await Bun.$`git ls-files -z -co --exclude-standard`.cwd(PROJECT).text();
  // With its time: a package-lock.json that is newer than what is installed would be installed again.
  for (const file of files.split("\0"))
    if (file !== "" && existsSync(join(PROJECT, file)))
      cpSync(join(PROJECT, file), join(folder, file), { preserveTimestamps: true });
}

/** As `npm ci --omit=dev` would, without its downloads: the files are links to those of this checkout. */
export async function installInto(folder: string): Promise<void> {
  const { packages } = JSON.parse(readFileSync(join(PROJECT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  // Packages inside packages come with these.
  const places = Object.entries(packages).flatMap(([place, { dev }]) =>
    /^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) && !dev && existsSync(join(PROJECT, place)) ? [place] : [],
  );
  for (const place of places) mkdirSync(join(folder, dirname(place)), { recursive: true });
  mkdirSync(join(folder, "node_modules/.bin"));
  for (const place of [...places, "node_modules/.bin/bun", "node_modules/.package-lock.json"])
    await must("cp", "-al", join(PROJECT, place), join(folder, place));
}
