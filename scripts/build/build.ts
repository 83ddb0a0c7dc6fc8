/**
 * `npm run build`: makes executables in dist/, for this system unless others are named.
 *   --target NAME   one of targets.ts; may be repeated
 *   --all           for every target
 *   --out FOLDER    instead of dist/
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../import-graph.ts";
import { layContents } from "./contents.ts";
import { makeExecutable } from "./executable.ts";
import { ownTarget, TARGETS, targetNamed } from "./targets.ts";

const MEBIBYTE = 1024 * 1024;

const staging = mkdtempSync(join(tmpdir(), "parley-build-"));
try {
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true },
      all: { type: "boolean" },
      out: { type: "string", default: resolve(ROOT, "dist") },
    },
  });
  const named = (values.target ?? []).map(targetNamed);
  const targets = values.all ? TARGETS : named.length > 0 ? named : [ownTarget()];
  const folder = resolve(values.out);
  // The bundler writes paths relative to the working folder into the file.
  process.chdir(ROOT);
  const assets = await layContents(staging);
  for (const target of targets) {
    const path = await makeExecutable(target, assets, folder);
    console.log(`${path}  ${(statSync(path).size / MEBIBYTE).toFixed(1)} MiB`);
  }
} catch (error) {
  console.error(`build: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(staging, { recursive: true, force: true });
}
