/**
 * Installs what the comparison needs. Everything goes to bench/node_modules and bench/.build, except Debian's packages. Nothing
 * here throws: a failure is returned as a sentence, and the benchmark continues without it.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";

const BENCH = join(import.meta.dir, "..");
const BUILD = join(BENCH, ".build");
/** Enough for a large Go program on a slow machine with an empty cache. */
const PATIENCE_MS = 30 * 60_000;

export type Got = { readonly path: string } | { readonly missing: string };

/** The packages of bench/package-lock.json. Undefined if installed, otherwise the reason. */
export function nodeModules(): string | undefined {
  if (!Bun.which("node")) return "Node.js is missing: apt-get install -y nodejs npm";
  // npm writes this file last: an interrupted installation is repeated.
  const installed = join(BENCH, "node_modules/.package-lock.json");
  if (existsSync(installed) && modified(installed) >= modified(join(BENCH, "package-lock.json"))) return undefined;
  console.log("bench: npm ci in bench/ (once)");
  const problem = run(["npm", "ci", "--no-audit", "--no-fund"], { npm_config_cache: join(BUILD, "npm") });
  return problem && `bench/node_modules is missing: npm ci in bench/ failed: ${problem}`;
}

/** Installs Debian packages if `isThere` returns false. Undefined if installed, otherwise a sentence with the command. */
export function debianPackages(what: string, names: readonly string[], isThere: () => boolean): string | undefined {
  if (isThere()) return undefined;
  const command = ["apt-get", "install", "-y", ...names];
  const advice = `${what} is missing: ${command.join(" ")}`;
  if (process.getuid?.() !== 0 || !Bun.which("apt-get")) return advice;
  console.log(`bench: installing ${names.join(", ")} (once)`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  // The list of packages may be outdated or missing.
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
    // Otherwise bench/.build could not be removed without changing modes first.
    GOFLAGS: `${process.env.GOFLAGS ?? ""} -modcacherw`.trim(),
  });
  return problem ? { missing: `${what} could not be built with Go: ${problem}` } : { path };
}

export interface Installed {
  readonly path: string;
  readonly version: string;
}

/** A program that is on the PATH already, with the version that it reports. */
export function onPath(name: string, versionArgs: readonly string[], PATH = process.env.PATH): Installed | undefined {
  const path = Bun.which(name, { PATH: PATH ?? "" });
  if (!path) return undefined;
  return {
    path,
    version: /\d+\.\d+\.\d+[-+.\w]*/.exec(printed([path, ...versionArgs]))?.[0] ?? "of an unknown version",
  };
}

/** The output of a program's version command. */
export function printed(command: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...command], { stdio: ["ignore", "pipe", "pipe"] });
  return `${stdout}${stderr}`.trim();
}

const modified = (path: string): number => statSync(path).mtimeMs;

/** Runs in bench/. Undefined on success, otherwise the last output without the addresses in it. */
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
  const output = stderr.toString().replaceAll(/https?:\S+\s*/g, "");
  const last = output.trim().split("\n").slice(-2).join(" ").replaceAll(/\s+/g, " ");
  return last || (exitCode === null ? "it took too long" : `code ${exitCode}`);
}
