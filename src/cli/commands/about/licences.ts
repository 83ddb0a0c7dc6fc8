/** `parley licences`: what Parley consists of, and the licence of each part. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assetPath, readAsset } from "../../../base/assets.ts";
import { VERSION } from "../../../version.ts";
import type { CommandResult } from "../../line/command.ts";
import bun from "./bun-licence.txt" with { type: "text" };

/** Where an executable has the list: an asset that scripts/build makes. */
export const LICENCES = ".build/licences.json";

export interface Part {
  readonly name: string;
  readonly version: string;
  /** As SPDX names it. */
  readonly licence: string;
  /** Where its sources are: some licences ask for that. */
  readonly source: string;
  readonly text: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly homepage?: string;
  readonly repository?: string | { readonly url: string };
  readonly dependencies?: Readonly<Record<string, string>>;
}

export async function licencesCommand(): Promise<CommandResult> {
  const parts = Bun.isStandaloneExecutable ? (JSON.parse(readAsset(LICENCES)) as Part[]) : licences();
  const width = Math.max(...parts.map((part) => titleOf(part).length));
  const list = parts.map((part) => `${titleOf(part).padEnd(width)}  ${part.licence}\n`).join("");
  const texts = parts.map((part) => `\n${RULE}\n${headOf(part)}\n${RULE}\n\n${part.text.trim()}\n`);
  return { value: parts, text: `${list}${texts.join("")}` };
}

const RULE = "-".repeat(80);
const headOf = (part: Part): string => [`${titleOf(part)}: ${part.licence}`, part.source].filter(Boolean).join("\n");
const titleOf = ({ name, version }: Part): string => `${name} ${version}`;

/** Read from what is installed: the packages that a service needs, and those that these need. */
export function licences(): Part[] {
  const root = assetPath(".");
  const own = { name: "parley", version: VERSION, licence: "Apache-2.0", source: "", text: readAsset("LICENSE") };
  const runtime = {
    name: "bun",
    version: Bun.version,
    licence: "MIT AND LGPL-2.1-only AND others",
    source: "https://github.com/oven-sh/bun",
    text: bun,
  };
  // Bound: the packages in package-lock.json.
  const found = new Map<string, Part>();
  const visit = (folder: string): void => {
    for (const name of Object.keys(manifestOf(folder).dependencies ?? {})) {
      const its = folderOf(name, folder);
      // Of Bun the program counts, whose package has no licence in it.
      if (its === undefined || name === "bun" || found.has(its)) continue;
      found.set(its, partOf(its));
      visit(its);
    }
  };
  visit(root);
  const packages = [...found.values()].sort((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1));
  return [own, runtime, ...packages];
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** As modules are found: in the nearest node_modules of the folders above. */
function folderOf(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
    if (folder === dirname(folder)) return undefined;
  }
}

function partOf(folder: string): Part {
  const { name, version, license = "not stated", homepage = "", repository = homepage } = manifestOf(folder);
  const source = typeof repository === "string" ? repository : repository.url;
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const text = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  return {
    name,
    version,
    licence: license,
    source,
    text: text.join("\n\n") || "Its package does not include the text.",
  };
}
