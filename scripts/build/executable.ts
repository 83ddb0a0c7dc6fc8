/** Makes one executable: Bun, the bundled code with its bytecode, and the contents. */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../import-graph.ts";
import { identity } from "./identity.ts";
import { runtimeOf } from "./runtime.ts";
import { fileNameOf, type Target } from "./targets.ts";

/** Writes it into the folder; returns its path. */
export async function makeExecutable(target: Target, assets: string[], folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  // Beside the result, so that it can be renamed into place: a service may be running from the last one.
  const work = mkdtempSync(join(folder, ".build-"));
  try {
    const { success, logs } = await Bun.build({
      entrypoints: [join(ROOT, "src/main.ts")],
      target: "bun",
      // With bytecode a start takes a fifth of the CPU time.
      format: "esm",
      bytecode: true,
      // Names are kept, and files and lines can be found: stacks in logs are for people.
      minify: { whitespace: true, syntax: true, identifiers: false },
      sourcemap: "linked",
      define: {
        "process.env.NODE_ENV": '"production"',
        PARLEY_BUILD: JSON.stringify(identity()),
        // Packages that look for files of their own do so for what the service does not use; the folder of this build is not in the file.
        __dirname: '"/"',
      },
      compile: {
        target: target.compiled,
        executablePath: runtimeOf(target, work),
        // The same for every target and every build: the name is in the file.
        outfile: join(work, "parley"),
        assets,
        // Neither .env nor bunfig.toml of the folder in which a user happens to be (see bin/parley).
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
      throw: false,
    });
    if (!success) throw new Error(`${target.name} cannot be built:\n${logs.join("\n")}`);
    const path = join(folder, fileNameOf(target));
    renameSync(join(work, target.name.startsWith("windows") ? "parley.exe" : "parley"), path);
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
