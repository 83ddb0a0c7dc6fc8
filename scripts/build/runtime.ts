/** Bun for a target, from its npm package: the one that runs this, or a download that is kept, and compared with package-lock.json. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "../import-graph.ts";
import { ownTarget, type Target } from "./targets.ts";

const VERSION = manifest.dependencies.bun;

/** The path of Bun's program. What has to be unpacked is unpacked into `folder`. */
export function runtimeOf(target: Target, folder: string): string {
  // The bytecode is made by the Bun that runs this, and only the same version reads it.
  if (Bun.version !== VERSION) throw new Error(`this is Bun ${Bun.version}; executables are built by ${VERSION}`);
  // npm has compared it with package-lock.json.
  if (target === ownTarget()) return process.execPath;
  const into = join(folder, target.name);
  mkdirSync(into, { recursive: true });
  run(["tar", "-xzf", downloaded(target), "-C", into], `the package ${target.runtime} cannot be unpacked`);
  return programIn(join(into, "package"));
}

function programIn(folder: string): string {
  const found = ["bin/bun", "bin/bun.exe"].map((name) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${folder} has no Bun in it`);
  return found;
}

/** The path of the package's archive, whose bytes are those that package-lock.json names. */
function downloaded({ runtime }: Target): string {
  const expected = integrityOf(runtime);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "parley/runtimes");
  const kept = join(cache, `${runtime.replace("@oven/", "")}-${VERSION}.tgz`);
  if (existsSync(kept) && integrity(kept) === expected) return kept;
  mkdirSync(cache, { recursive: true });
  // Renamed into place: another build may look for it at the same time.
  const work = mkdtempSync(join(cache, "download-"));
  try {
    console.error(`build: downloading ${runtime} ${VERSION} (once)`);
    const packed = run(
      ["npm", "pack", `${runtime}@${VERSION}`, "--pack-destination", work, "--json", "--loglevel=error"],
      `${runtime} ${VERSION} cannot be downloaded`,
    );
    const archive = join(work, (JSON.parse(packed) as [{ filename: string }])[0].filename.replace("@oven/", "oven-"));
    const actual = integrity(archive);
    if (actual !== expected)
      throw new Error(
        `${runtime} ${VERSION} is not the file that package-lock.json names (${actual}, not ${expected}): check the registry that npm uses`,
      );
    renameSync(archive, kept);
    return kept;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function integrityOf(runtime: string): string {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };
  const { version, integrity: found } = packages[`node_modules/${runtime}`] ?? {};
  if (version !== VERSION || found === undefined)
    throw new Error(`package-lock.json does not have ${runtime} ${VERSION}: run npm install`);
  return found;
}

const integrity = (path: string): string =>
  `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;

function run(command: readonly string[], failure: string): string {
  const { success, stdout, stderr } = Bun.spawnSync([...command], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  if (!success) throw new Error(`${failure}:\n${stderr.toString()}`);
  return stdout.toString();
}
