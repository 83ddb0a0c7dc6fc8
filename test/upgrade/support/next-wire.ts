/**
 * Preloaded: a node that uses the next version of the messages between nodes, and of Parley. With REPLACED, only workers are, and only when
 * the file that it names exists: as if the files of Parley had been replaced while it runs.
 */
import { existsSync, readFileSync } from "node:fs";
import { plugin } from "bun";

const REPLACED = "TEST_FILES_REPLACED";

export const NEXT_WIRE = { BUN_OPTIONS: `--preload ${import.meta.path}` };
export const replacedWhen = (file: string): Readonly<Record<string, string>> => ({ ...NEXT_WIRE, [REPLACED]: file });

export const NEXT_VERSION = "9.9.9";
const marker = process.env[REPLACED];
const isNext = marker === undefined || (process.argv.includes("worker") && existsSync(marker));

const CHANGES: readonly (readonly [file: RegExp, from: string, to: string])[] = [
  [/\/cluster\/wire\/messages\.ts$/, "export const VERSION = 2;", "export const VERSION = 3;"],
  [/\/src\/version\.ts$/, "= manifest.version;", `= "${NEXT_VERSION}";`],
];

plugin({
  name: "the next wire",
  setup(build) {
    for (const [filter, from, to] of isNext ? CHANGES : [])
      build.onLoad({ filter }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        if (!text.includes(from)) throw new Error(`${path} does not have ${from}`);
        return { contents: text.replace(from, to), loader: "ts" };
      });
  },
});
