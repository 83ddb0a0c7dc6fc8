/**
 * Builds the pages of web/ with Bun's bundler: each index.html with the scripts and styles that it names, under names that contain
 * a hash of their content; and parley-client as one module. The result is kept in web/.build and used again as long as no source
 * has changed. An executable has it inside, and no sources.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readAsset } from "../../base/assets.ts";
import { type Packed, pack } from "../response/packed.ts";
import { Sources } from "./sources.ts";
import { withoutUnusedPaths } from "./uplot.ts";

const PROJECT = join(import.meta.dir, "../../..");
const WEB = join(PROJECT, "web");
const BUILT = join(WEB, ".build");
const CLIENT = join(PROJECT, "client/src");
const MANIFEST = "manifest.json";
/** What an executable has: an asset that scripts/build makes. */
export const BUILT_PAGES = ".build/pages.json";
/** Every page's folder, which is also its name. */
export const PAGES = ["start", "docs", "reference", "dashboard", "meeting"] as const;
export type PageName = (typeof PAGES)[number];

/** Uploads the recordings of a meeting: a script of its own, beside the page's. */
const UPLOAD_WORKER = "meeting/recording/upload-worker.ts";

/** Takes a thumbnail of what is recorded, and measures speech: loaded by a page that records. */
const OBSERVER = "meeting/recording/observe.ts";

/** Texts of a meeting in other languages than English: files of their own, of which a visitor loads one. */
const TEXTS = ["de", "fr", "es"];

/** The script of the page for a room that does not exist. */
const NO_ROOM = "meeting/no-room.ts";

/** Loads a page again whose scripts are those of another release. It must be found by pages of every release: its name has no hash. */
const RECOVER = "recover/recover.ts";
export const RECOVER_NAME = "recover.js";

/** The dashboard's script, which loads its pages' scripts as they are needed. */
const DASHBOARD = "dashboard/main.tsx";

/** Draws the dashboard's charts: a script that only its overview loads. */
const PLOTS = "dashboard/ui/plot.ts";

/** Where browsers load scripts and styles from. */
export const ASSETS_PATH = "/assets/";

export interface Bundle {
  /** The HTML of each page. */
  readonly pages: Readonly<Record<PageName, string>>;
  /** Scripts and styles by name. Bound: the files of `web/`. */
  readonly assets: ReadonlyMap<string, Packed>;
  /** parley-client without React. */
  readonly client: Packed;
}

interface Manifest {
  /** Dates and contents of the sources that it was built from. */
  readonly stamp: string;
  readonly sources: string;
  readonly pages: Bundle["pages"];
  readonly assets: Readonly<Record<string, KeptAsset>>;
  readonly client: KeptAsset;
}

interface KeptAsset {
  readonly text: string;
  readonly gzipBase64: string;
}

/** The bundle of the present sources: from the folder of the last build, or built now. */
export async function loadBundle(): Promise<Bundle> {
  if (Bun.isStandaloneExecutable) return bundleOf(JSON.parse(readAsset(BUILT_PAGES)) as Manifest);
  const files = sourcesOf(PROJECT);
  const stamp = files.stamp();
  const built = readManifest();
  if (built?.stamp === stamp) return bundleOf(built);
  const sources = files.hash();
  if (built?.sources === sources) {
    keep({ ...built, stamp });
    return bundleOf(built);
  }
  const bundle = await build();
  keep({ stamp, sources, ...keptParts(bundle) });
  return bundle;
}

/**
 * What an executable has under BUILT_PAGES, and a package in web/.build: without dates, so that the same sources give the same bytes.
 * `sources` are those with which it is to be used again.
 */
export const builtPages = async (sources = ""): Promise<string> =>
  JSON.stringify({ stamp: "", sources, ...keptParts(await build()) });

/** Everything that the pages import from the project in this folder, and the versions of the packages. */
export const sourcesOf = (project: string): Sources =>
  new Sources(
    ["web", "src/protocol", "client/src"].map((path) => join(project, path)),
    [join(project, "package.json")],
  );

function keptParts({ pages, assets, client }: Bundle): Omit<Manifest, "stamp" | "sources"> {
  // Sorted: the bundler works on several threads, and lists its files in any order.
  const names = [...assets].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    pages,
    assets: Object.fromEntries(names.map(([name, asset]) => [name, toKeep(asset)])),
    client: toKeep(client),
  };
}

async function build(): Promise<Bundle> {
  const [texts, workers, observers, languages, noRooms, [client], [recover], plots, dashboard] = await Promise.all([
    bundled("the pages of web/", {
      entrypoints: PAGES.map((name) => join(WEB, name, "index.html")),
      root: WEB,
      publicPath: ASSETS_PATH,
      naming: { entry: "[dir]/[name].[ext]", chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
      define: { "process.env.NODE_ENV": '"production"' },
    }),
    bundled("the upload worker", {
      entrypoints: [join(WEB, UPLOAD_WORKER)],
      naming: { entry: "[name]-[hash].[ext]" },
    }),
    bundled("what looks at recordings", {
      entrypoints: [join(WEB, OBSERVER)],
      naming: { entry: "[name]-[hash].[ext]" },
    }),
    bundled("the texts of meetings", {
      entrypoints: TEXTS.map((tag) => join(WEB, `meeting/texts/${tag}.ts`)),
      naming: { entry: "[name]-[hash].[ext]" },
    }),
    bundled("the page without a room", {
      entrypoints: [join(WEB, NO_ROOM)],
      naming: { entry: "[name]-[hash].[ext]" },
      format: "iife",
    }),
    bundled("parley-client", { entrypoints: [join(CLIENT, "all.ts")] }),
    bundled("the recovery of pages", { entrypoints: [join(WEB, RECOVER)], format: "iife" }),
    bundled("the charts", {
      entrypoints: [join(WEB, PLOTS)],
      naming: { entry: "[name]-[hash].[ext]" },
      plugins: [withoutUnusedPaths],
    }),
    bundled("the dashboard", {
      entrypoints: [join(WEB, DASHBOARD)],
      splitting: true,
      naming: { entry: "dashboard-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
      define: { "process.env.NODE_ENV": '"production"' },
    }),
  ]);
  // They are loaded by their addresses, which the bundler does not write into the pages by itself.
  const worker = `${ASSETS_PATH}${workers[0]?.[0] ?? ""}`;
  const observer = `${ASSETS_PATH}${observers[0]?.[0] ?? ""}`;
  const addresses = languages
    .map(([path]) => `${path.split("-")[0]}=${ASSETS_PATH}${path}`)
    .sort()
    .join("&amp;");
  const noRoom = `${ASSETS_PATH}${noRooms[0]?.[0] ?? ""}`;
  const plot = `${ASSETS_PATH}${plots[0]?.[0] ?? ""}`;
  const scripts = scriptsOf(dashboard);
  const htmlOf = (name: PageName): string =>
    (texts.find(([path]) => path === `${name}/index.html`)?.[1] ?? "")
      .replace('data-uploads=""', `data-uploads="${worker}"`)
      .replace('data-observer=""', `data-observer="${observer}"`)
      .replace('data-texts=""', `data-texts="${addresses}"`)
      .replace('data-no-room=""', `data-no-room="${noRoom}"`)
      .replace('data-plots=""', `data-plots="${plot}"`)
      // A page without a script of its own is given an empty one.
      .replace(EMPTY_SCRIPT, (tag) => (name === "dashboard" ? "" : tag))
      .replace("<head>", name === "dashboard" ? `<head>${scripts}` : "<head>")
      .replace("<head>", `<head><script src="${ASSETS_PATH}${RECOVER_NAME}"></script>`);
  const files = [
    ...texts.filter(([path]) => !path.endsWith(".html")),
    ...workers,
    ...observers,
    ...languages,
    ...noRooms,
    ...plots,
    ...dashboard,
    [RECOVER_NAME, recover?.[1] ?? ""] as const,
  ];
  return {
    pages: Object.fromEntries(PAGES.map((name) => [name, htmlOf(name)])) as Bundle["pages"],
    assets: new Map(files.map(([path, text]) => [path, pack(text)])),
    client: pack(client?.[1] ?? ""),
  };
}

const EMPTY_SCRIPT = /<script type="module"[^>]*><\/script>/;

/** The tags that load the dashboard's first script, and with it what that imports at once. */
function scriptsOf(files: readonly (readonly [string, string])[]): string {
  const [path, text] = files.find(([path]) => path.startsWith("dashboard-")) ?? ["", ""];
  const imported = [...text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)].map(([, name = ""]) => name);
  const preloads = imported.map((name) => `<link rel="modulepreload" href="${ASSETS_PATH}${name}">`);
  return `<script type="module" src="${ASSETS_PATH}${path}"></script>${preloads.join("")}`;
}

/** The files that the bundler makes: path and text. */
async function bundled(what: string, config: Bun.BuildConfig): Promise<(readonly [string, string])[]> {
  const { success, logs, outputs } = await Bun.build({ ...config, target: "browser", minify: true, throw: false });
  if (!success) throw new Error(`${what} cannot be built:\n${logs.map(located).join("\n")}`);
  return Promise.all(outputs.map(async (one) => [one.path.replace(/^\.\//, ""), await one.text()] as const));
}

const toKeep = ({ text, gzip }: Packed): KeptAsset => ({ text, gzipBase64: gzip.toBase64() });

const kept = ({ text, gzipBase64 }: KeptAsset): Packed => ({ text, gzip: Uint8Array.fromBase64(gzipBase64) });

const located = ({ message, position }: BuildMessage | ResolveMessage): string =>
  position ? `${position.file}:${position.line}:${position.column}: ${message}` : message;

function readManifest(): Manifest | undefined {
  const file = join(BUILT, MANIFEST);
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Manifest;
  } catch {
    return undefined;
  }
}

function bundleOf({ pages, assets, client }: Manifest): Bundle {
  const unpacked = Object.entries(assets).map(([name, asset]) => [name, kept(asset)] as const);
  return { pages, assets: new Map(unpacked), client: kept(client) };
}

/** Renamed into place: several nodes on one machine may start at once. A folder that cannot be written to costs a build per start. */
function keep(manifest: Manifest): void {
  const file = join(BUILT, MANIFEST);
  const temporary = join(BUILT, `${randomUUID()}.tmp`);
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(temporary, JSON.stringify(manifest));
    renameSync(temporary, file);
  } catch {
    rmSync(temporary, { force: true });
  }
}
