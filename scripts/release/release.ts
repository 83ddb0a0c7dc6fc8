/**
 * `npm run release`: makes every file of a release in one folder, from a clean tree. Nothing is published.
 *   --out FOLDER     where to; default dist/release. It must be empty or absent
 *   --version X      the version that a tag names: it must be that of package.json, and CHANGELOG.md must have a date for it
 *   --target NAME    only the executables of this system, to try a release quickly; may be repeated
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { SUMS, writeSums } from "./archive.ts";
import { buildBinaries, packBinary } from "./binaries.ts";
import { packChart, releasedDockerfile } from "./chart.ts";
import { DEBIAN_ARCHITECTURES, packDebian } from "./debian.ts";
import { factsOf, projectFile, type Release, ROOT, uncommitted } from "./facts.ts";
import { installScript } from "./install.ts";
import { LICENCES, licenceFiles } from "./licences.ts";
import { notesOf, type Section, sectionOf } from "./notes.ts";
import { packNpm } from "./npm.ts";
import { sbomOf } from "./sbom.ts";

const MEBIBYTE = 1024 * 1024;
/** How many of the changed files an error lists. */
const LISTED_MAX = 5;

try {
  await main();
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: join(ROOT, "dist/release") },
      version: { type: "string" },
      target: { type: "string", multiple: true, default: [] },
    },
  });
  const out = resolve(values.out);
  const section = await checked(out, values.version);
  const release = await factsOf(manifest.version);
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "parley-release-"));
  try {
    await make(release, section, values.target, out, work);
  } catch (error) {
    // Half a release must not be taken for one.
    rmSync(out, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  for (const name of readdirSync(out).sort())
    console.log(`${(statSync(join(out, name)).size / MEBIBYTE).toFixed(2).padStart(8)} MiB  ${name}`);
}

/** Refuses what no one could repeat, and what would be called by a wrong name. */
async function checked(out: string, version: string | undefined): Promise<Section> {
  const changes = await uncommitted();
  if (changes.length > 0)
    throw new Error(
      `the tree has changes that are not committed, so its commit would not describe the release; commit or remove them:\n${changes.slice(0, LISTED_MAX).join("\n")}${changes.length > LISTED_MAX ? `\nand ${changes.length - LISTED_MAX} more` : ""}`,
    );
  if (existsSync(out) && readdirSync(out).length > 0)
    throw new Error(`${out} is not empty: remove it, or name another folder with --out`);
  const section = sectionOf(projectFile("CHANGELOG.md"), manifest.version);
  if (version === undefined) return section;
  if (version !== manifest.version)
    throw new Error(`package.json has the version ${manifest.version}, not ${version}: change it, or the tag`);
  if (!section.isDated)
    throw new Error(`CHANGELOG.md has no date for ${version}: write "## ${version} (YYYY-MM-DD)" there`);
  return section;
}

async function make(
  release: Release,
  section: Section,
  targets: readonly string[],
  out: string,
  work: string,
): Promise<void> {
  const step = (what: string): void => console.error(`release: ${what}`);
  step(`${release.version} of commit ${release.commit}`);
  step("executables");
  const built = join(work, "built");
  mkdirSync(built);
  const binaries = await buildBinaries(release, built, targets);
  const licences = await licenceFiles();
  for (const binary of binaries) await packBinary(binary, licences, out, release.epochSeconds, work);
  step("npm packages");
  await packNpm(release, out, work);
  step("Debian packages");
  for (const { target, file } of binaries) {
    const architecture = DEBIAN_ARCHITECTURES[target];
    if (architecture === undefined) continue;
    await packDebian({ release, architecture, executable: file, licences: licences[LICENCES] ?? "" }, out, work);
  }
  step("chart, Dockerfile, components and notes");
  await packChart(release, out);
  const texts: Record<string, string> = {
    ...licences,
    [`parley-${release.version}.cdx.json`]: await sbomOf(release, work),
    Dockerfile: releasedDockerfile(projectFile("deploy/Dockerfile")),
    "RELEASE_NOTES.md": notesOf(release, section),
    "install.sh": installScript(release),
  };
  for (const [name, text] of Object.entries(texts)) await Bun.write(join(out, name), text);
  await writeSums(out);
  step(`${readdirSync(out).length - 1} files and ${SUMS} in ${out}`);
}
