/** Archives whose bytes depend on nothing but names, contents and the time of the commit; and checksums of files. */
import { createHash } from "node:crypto";
import { createReadStream, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { output } from "./program.ts";

export const SUMS = "SHA256SUMS";

/** Who packs, and with which umask, must not show: everyone may read, the owner may write. */
const SAME_FOR_EVERYONE = [
  "--sort=name",
  "--format=ustar",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--mode=u=rwX,go=rX",
] as const;

/** Packs entries of `folder`, given by name, into `file`, which ends in .tar.gz or .tgz. */
export async function packed(
  file: string,
  folder: string,
  names: readonly string[],
  epochSeconds: number,
): Promise<void> {
  const tar = join(dirname(file), `.${crypto.randomUUID()}.tar`);
  const options = [...SAME_FOR_EVERYONE, `--mtime=@${epochSeconds}`, `--directory=${folder}`];
  await output(["tar", "--create", `--file=${tar}`, ...options, ...names]);
  // Without the name and the time of the file.
  await output(["gzip", "--no-name", tar]);
  await output(["mv", `${tar}.gz`, file]);
}

export async function sha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(file)) hash.update(bytes as Uint8Array);
  return hash.digest("hex");
}

/** Lines for `sha256sum --check`, of every file in the folder. */
export async function writeSums(folder: string): Promise<void> {
  const names = readdirSync(folder)
    .filter((name) => name !== SUMS)
    .sort();
  const lines: string[] = [];
  for (const name of names) lines.push(`${await sha256(join(folder, name))}  ${name}\n`);
  await Bun.write(join(folder, SUMS), lines.join(""));
}
