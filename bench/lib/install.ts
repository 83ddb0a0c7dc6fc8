/**
 * Gets what the comparison needs. Everything goes to bench/node_modules and bench/.build, except Debian's packages. Nothing
 * here throws: what cannot be had is said in a sentence, and the benchmark goes on without it.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";

const BENCH = join(import.meta.dir, "..");
const BUILD = join(BENCH, ".build");
/** A large Go program on a slow machine with an empty cache. */
const PATIENCE_MS = 30 * 60_000;

export type Got = { readonly path: string } | { readonly missing: string };

/** What bench/package-lock.json names. Undefined when it is there, else why not. */
export function nodeModules(): string | undefined {
  if (!Bun.which("node")) return "Node.js is missing: apt-get install -y nodejs npm";
  // npm writes this file last: an installation that broke off is done again.
  const installed = join(BENCH, "node_modules/.package-lock.json");
  if (existsSync(installed) && modified(installed) >= modified(join(BENCH, "package-lock.json"))) return undefined;
  console.log("bench: npm ci in bench/ (once)");
  const problem = run(["npm", "ci", "--no-audit", "--no-fund"], { npm_config_cache: join(BUILD, "npm") });
  return problem && `bench/node_modules is missing: npm ci in bench/ failed: ${problem}`;
}

/** Debian's packages, once `isThere` says no. Undefined when it is there, else the sentence with the command. */
export function debianPackages(what: string, names: readonly string[], isThere: () => boolean): string | undefined {
  if (isThere()) return undefined;
  const command = ["apt-get", "install", "-y", ...names];
  const advice = `${what} is missing: ${command.join(" ")}`;
  if (process.getuid?.() !== 0 || !Bun.which("apt-get")) return advice;
  console.log(`bench: installing ${names.join(", ")} (once)`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  // The list of packages may be old, or not there yet.
  let problem = run(command, env);
  if (problem && !run(["apt-get", "update", "-q"], env)) problem = run(command, env);
  if (isThere()) return undefined;
  return problem ? `${advice} (tried, and failed: ${problem})` : advice;
}

/** Builds the program `module` at exactly this version. */
export function goProgram(module: string, version: string): Got {
  const name = basename(module.replace(/\/v\d+$/, ""));
  const what = `${name} ${version}`;
  const folder = join(BUILD, "bin", version);
  const path = join(folder, name);
  if (existsSync(path)) return { path };
  if (!Bun.which("go")) return { missing: `${what} is missing: a Go toolchain is needed to build it` };
  console.log(`bench: building ${what} with Go (once)`);
  const problem = run(["go", "install", `${module}@${version}`], {
    GOBIN: folder,
    GOPATH: join(BUILD, "go"),
    GOCACHE: join(BUILD, "go-cache"),
    // Else nobody could remove bench/.build without changing modes first.
    GOFLAGS: `${process.env.GOFLAGS ?? ""} -modcacherw`.trim(),
  });
  return problem ? { missing: `${what} could not be built with Go: ${problem}` } : { path };
}

/** The words a program prints when asked for its version. */
export function printed(command: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...command], { stdio: ["ignore", "pipe", "pipe"] });
  return `${stdout}${stderr}`.trim();
}

const modified = (path: string): number => statSync(path).mtimeMs;

/** In bench/. Undefined when all is well, else what the command said last, without the addresses in it. */
function run(command: readonly string[], env: Readonly<Record<string, string>>): string | undefined {
  mkdirSync(BUILD, { recursive: true });
  if (!Bun.which(command[0] ?? "")) return `there is no ${command[0]}`;
  const { success, exitCode, stderr } = Bun.spawnSync([...command], {
    cwd: BENCH,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...env },
    timeout: PATIENCE_MS,
  });
  if (success) return undefined;
  const words = stderr.toString().replaceAll(/https?:\S+\s*/g, "");
  const last = words.trim().split("\n").slice(-2).join(" ").replaceAll(/\s+/g, " ");
  return last || (exitCode === null ? "it took too long" : `code ${exitCode}`);
}
