/** The executables of all systems, and an archive of each. */
import { chmodSync, copyFileSync, linkSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { packed } from "./archive.ts";
import { type Release, ROOT } from "./facts.ts";
import { output } from "./program.ts";

export interface Binary {
  /** Such as linux-x64, linux-arm64-musl, windows-x64. */
  readonly target: string;
  readonly file: string;
}

const NAME = /^parley-([a-z]+-[a-z0-9]+(?:-[a-z]+)*)(?:\.exe)?$/;

/** Builds them into `folder`; without targets, those of every system. */
export async function buildBinaries(
  { epochSeconds }: Release,
  folder: string,
  targets: readonly string[],
): Promise<Binary[]> {
  const chosen = targets.length === 0 ? ["--all"] : targets.flatMap((target) => ["--target", target]);
  const script = [process.execPath, "--no-env-file", "scripts/build/build.ts"];
  const env = { SOURCE_DATE_EPOCH: String(epochSeconds) };
  await output([...script, ...chosen, "--out", folder], { cwd: ROOT, env });
  const built = readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const [, target] = NAME.exec(name) ?? [];
      return target === undefined ? [] : [{ target, file: join(folder, name) }];
    });
  const missing = targets.filter((target) => !built.some((one) => one.target === target));
  if (built.length === 0 || missing.length > 0)
    throw new Error(`the build has made ${built.length} executables; missing: ${missing.join(", ") || "all"}`);
  return built;
}

/** parley-linux-x64.tar.gz: the same name in every release, so that an address of the latest one can be given. */
export async function packBinary(
  { target, file }: Binary,
  licences: Readonly<Record<string, string>>,
  out: string,
  epochSeconds: number,
  work: string,
): Promise<void> {
  const folder = join(work, `archive-${target}`);
  const inside = join(folder, "parley");
  mkdirSync(inside, { recursive: true });
  const program = join(inside, file.endsWith(".exe") ? "parley.exe" : "parley");
  place(file, program);
  for (const [name, text] of Object.entries(licences)) await Bun.write(join(inside, name), text);
  await packed(join(out, `parley-${target}.tar.gz`), folder, ["parley"], epochSeconds);
}

/** By hard link where possible, because an executable has 100 MB. */
export function place(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
  chmodSync(to, 0o755);
}
