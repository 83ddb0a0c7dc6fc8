/** Programs of others, built once from Go's registry where Go is installed. The first build takes minutes: only full runs ask for it. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const CACHE = join(import.meta.dir, "../../../node_modules/.cache");

/** Where Go makes the program from `module`, such as helm.sh/helm/v3/cmd/helm. A program on the path is used instead. */
export async function goTool(name: string, module: string, version: string): Promise<string> {
  const given = Bun.which(name);
  if (given) return given;
  const folder = join(CACHE, `${name}-${version}`);
  const program = join(folder, name);
  if (existsSync(program)) return program;
  const go = Bun.which("go");
  if (!go) throw new Error(`${name} is needed, or Go to build it: apt-get install golang-go`);
  mkdirSync(folder, { recursive: true });
  // Built without optimizations, in two thirds of the CPU time.
  const flags = ["-gcflags=all=-N -l", "-ldflags=-s -w"];
  const build = Bun.spawn([go, "install", ...flags, `${module}@${version}`], {
    env: { ...process.env, GOBIN: folder, CGO_ENABLED: "0" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [complaint, code] = await Promise.all([build.stderr.text(), build.exited]);
  if (code !== 0) throw new Error(`${name} could not be built: ${complaint}`);
  return program;
}
