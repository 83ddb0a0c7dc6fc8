/**
 * The service as one file with bytecode. A start from its sources spends more than half of its CPU time on reading some 700 modules,
 * and the suites start it hundreds of times.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BunPlugin } from "bun";

/** Files of the sources that read others beside them still find these. */
const withFolders: BunPlugin = {
  name: "folders of the sources",
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (!text.includes("import.meta.dir")) return undefined;
      return { contents: text.replaceAll("import.meta.dir", JSON.stringify(dirname(path))), loader: "ts" };
    });
  },
};

/** Writes it into the folder; returns the path of the file to run. */
export async function bundleService(folder: string): Promise<string> {
  await Bun.build({
    entrypoints: [join(import.meta.dir, "service-main.ts")],
    outdir: folder,
    target: "bun",
    format: "cjs",
    bytecode: true,
    plugins: [withFolders],
  });
  return join(folder, "service-main.js");
}
