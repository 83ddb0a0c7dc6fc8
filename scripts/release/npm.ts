/**
 * The two npm packages. The manifests of the repository are private, so that nothing is published from a working folder by mistake;
 * the published ones are made of them here.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPackage } from "../../client/build.mjs";
import clientManifest from "../../client/package.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { builtPages, sourcesOf } from "../../src/http/pages/bundle.ts";
import { projectFile, type Release, ROOT } from "./facts.ts";
import { output } from "./program.ts";

/** `parley` is taken in the registry by another project. The command is still `parley`. */
export const SERVER_NAME = "parley-server";
const SHRINKWRAP = "npm-shrinkwrap.json";
/** The pages, built: an installed package often lies where the service may not write. */
const BUILT_PAGES = "web/.build/manifest.json";

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Fields that both published manifests have. `folder`: where its sources are in the repository. */
function publishing({ version, repository }: Release, folder?: string): object {
  const place = {
    repository: { type: "git", url: `git+${repository}.git`, ...(folder !== undefined && { directory: folder }) },
    homepage: `${repository}#readme`,
    bugs: { url: `${repository}/issues` },
  };
  return {
    version,
    ...(repository !== "" && place),
    publishConfig: { access: "public", provenance: true },
  };
}

export function serverManifest(release: Release): Record<string, unknown> {
  const { private: _private, scripts: _scripts, devDependencies: _dev, ...rest } = manifest;
  // Only the root of an installation has overrides and allowed scripts: for others the lockfile in the package decides.
  const { overrides: _overrides, allowScripts: _allow, scarfSettings: _scarf, ...kept } = rest;
  return {
    ...kept,
    name: SERVER_NAME,
    keywords: ["realtime", "websocket", "presence", "pubsub", "chat", "webrtc", "meetings", "self-hosted"],
    ...publishing(release),
    files: [...manifest.files, SHRINKWRAP],
  };
}

export function publishedClient(release: Release): Record<string, unknown> {
  // Its folder `dist` is in the package already.
  const { private: _private, scripts: _scripts, ...kept } = clientManifest;
  return {
    ...kept,
    keywords: ["realtime", "websocket", "presence", "pubsub", "chat", "react"],
    ...publishing(release, "client"),
  };
}

/**
 * The lockfile of the published package. Without it, npm would choose the newest versions of what our dependencies need, among them
 * one that the repository overrides because it does not support Node 20.
 */
export function shrinkwrapOf(lockfile: string, published: Record<string, unknown>): string {
  const { packages, ...rest } = JSON.parse(lockfile) as Lockfile;
  const kept = Object.entries(packages).filter(
    ([path, { dev = false, devOptional = false }]) => path !== "" && !dev && !devOptional,
  );
  const { name, version, license, dependencies, engines, bin } = published;
  const root = { name, version, license, dependencies, bin, engines };
  return `${JSON.stringify({ ...rest, name, version, packages: { "": root, ...Object.fromEntries(kept) } }, undefined, 2)}\n`;
}

/** Both files in `out`: parley-server-0.2.0.tgz and parley-client-0.2.0.tgz. */
export async function packNpm(release: Release, out: string, work: string): Promise<void> {
  await pack(await stageServer(release, join(work, "server")), out);
  await pack(await stageClient(release, join(work, "client")), out);
}

const pack = (folder: string, out: string): Promise<string> =>
  output(["npm", "pack", "--ignore-scripts", "--offline", "--pack-destination", out], { cwd: folder });

/** The files that the manifest's list allows, as npm reads it. */
export async function allowedFiles(): Promise<string[]> {
  const listed = await output(["npm", "pack", "--dry-run", "--json", "--ignore-scripts", "--offline"], { cwd: ROOT });
  const [{ files }] = JSON.parse(listed) as [{ files: { path: string }[] }];
  return files.map(({ path }) => path).filter((path) => !path.startsWith("web/.build/"));
}

async function stageServer(release: Release, folder: string): Promise<string> {
  for (const path of await allowedFiles()) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path));
  }
  const published = serverManifest(release);
  writeJson(join(folder, "package.json"), published);
  writeFileSync(join(folder, SHRINKWRAP), shrinkwrapOf(projectFile("package-lock.json"), published));
  await buildPages(folder);
  return folder;
}

/**
 * Built in the project, and not in this folder: names of files contain a hash, which depends on where the packages lie as seen from the
 * pages. The sources are those of this folder, because its manifest is another one.
 */
async function buildPages(folder: string): Promise<void> {
  const file = join(folder, BUILT_PAGES);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${await builtPages(sourcesOf(folder).hash())}\n`);
}

async function stageClient(release: Release, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  for (const name of ["README.md", "LICENSE"]) cpSync(join(ROOT, "client", name), join(folder, name));
  writeJson(join(folder, "package.json"), publishedClient(release));
  await buildPackage(join(folder, "dist"));
  return folder;
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
