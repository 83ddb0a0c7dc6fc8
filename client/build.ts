/**
 * Builds the package parley-client into client/dist: `npm run build:client`.
 *
 * Each source becomes one module with its types beside it. They are not bundled: the subpaths of the package share modules, so that
 * there is one ParleyError however it is imported, and bundlers of applications leave out what they do not use. What is shared with
 * the service (src/protocol) is copied in, because nothing outside the package exists for its users.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import manifest from "./package.json" with { type: "json" };

const CLIENT = import.meta.dir;
const PROJECT = join(CLIENT, "..");

/** Where a compiled file comes to lie, by the folder of its source. */
const PLACES = [
  ["client/src/", ""],
  ["src/protocol/", "protocol/"],
] as const;

const IMPORT = /((?:from|import) "|import\(")(\.[^"]+)\.(?:js|ts)"/g;

/** Builds into `dist`, which is replaced. */
export async function buildPackage(dist: string): Promise<void> {
  // Beside it, so that it can be renamed into place.
  const work = mkdtempSync(`${dist}-`);
  try {
    const compiled = join(work, "compiled");
    await compile(compiled);
    const built = join(work, "dist");
    for (const path of reachable(compiled)) {
      const target = join(built, placeOf(path));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, moved(compiled, path));
      if (path.endsWith(".js")) writeFileSync(`${target}.map`, sourceMap(compiled, path));
    }
    rmSync(dist, { recursive: true, force: true });
    renameSync(built, dist);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function compile(outDir: string): Promise<void> {
  const tsc = join(PROJECT, "node_modules/.bin/tsc");
  const child = Bun.spawn([tsc, "-p", join(CLIENT, "tsconfig.build.json"), "--outDir", outDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the client cannot be compiled:\n${output}`);
}

/** What the subpaths of the package import, and what that imports: modules and declarations, relative to the compiled folder. */
function reachable(compiled: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    const ending = path.endsWith(".d.ts") ? ".d.ts" : ".js";
    for (const [, , name = ""] of readFileSync(join(compiled, path), "utf8").matchAll(IMPORT))
      visit(`${join(dirname(path), name)}${ending}`);
  };
  for (const subpath of Object.values(manifest.exports))
    if (typeof subpath === "object")
      for (const file of [subpath.default, subpath.types]) visit(file.replace("./dist/", "client/src/"));
  return found;
}

function placeOf(path: string): string {
  const place = PLACES.find(([from]) => path.startsWith(from));
  if (!place) throw new Error(`${path} is no part of the client`);
  return place[1] + path.slice(place[0].length);
}

/** The file with imports that fit its new place. */
function moved(compiled: string, path: string): string {
  const text = readFileSync(join(compiled, path), "utf8");
  const folder = dirname(placeOf(path));
  return text.replace(IMPORT, (_, before: string, name: string) => {
    const target = relative(folder, placeOf(join(dirname(path), name)));
    return `${before}${target.startsWith(".") ? "" : "./"}${target}.js"`;
  });
}

/** It contains its source. The name is only shown by debuggers. */
function sourceMap(compiled: string, path: string): string {
  const map = JSON.parse(readFileSync(join(compiled, `${path}.map`), "utf8"));
  return JSON.stringify({ ...map, sources: [`parley-client/${placeOf(path).replace(/\.js$/, ".ts")}`] });
}

if (import.meta.main) await buildPackage(join(CLIENT, "dist"));
