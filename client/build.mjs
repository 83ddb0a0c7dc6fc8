/**
 * Builds the package parley-client into client/dist: `npm run build:client`, and `npm pack ./client` does so first.
 *
 * Each source becomes one module with its types beside it. They are not bundled: the subpaths of the package share modules, so that
 * there is one ParleyError however it is imported, and bundlers of applications leave out what they do not use. What is shared with
 * the service (src/protocol) is copied in, because nothing outside the package exists for its users.
 *
 * Plain JavaScript for Node, and not started by bin/dev: that may install the project's packages anew, and a server may be running
 * from them.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const CLIENT = dirname(fileURLToPath(import.meta.url));
const PROJECT = dirname(CLIENT);
/** The compiler, and the types of what the client imports. */
const TOOLS = ["typescript", "@types/react", "@types/ws"];
/** Where they are installed if the project has only the packages that a server needs. */
const OWN_TOOLS = join(CLIENT, ".tools");
const SOURCES = ["tsconfig.json", "client/tsconfig.json", "client/tsconfig.build.json", "client/src", "src/protocol"];

/** Where a compiled file comes to lie, by the folder of its source. */
const PLACES = [
  ["client/src/", ""],
  ["src/protocol/", "protocol/"],
];

const IMPORT = /((?:from|import) "|import\(")(\.[^"]+)\.(?:js|ts)"/g;

/** Builds into `dist`, which is replaced. */
export async function buildPackage(dist) {
  // Beside it, so that it can be renamed into place.
  const work = mkdtempSync(`${dist}-`);
  try {
    const compiled = join(work, "compiled");
    compile(compiled);
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

function compile(outDir) {
  if (hasTools(PROJECT)) return tsc(PROJECT, PROJECT, outDir);
  installTools();
  // A copy beside the tools, because the compiler looks for types in the folders above the sources.
  const copy = mkdtempSync(join(OWN_TOOLS, "work-"));
  try {
    for (const path of SOURCES) cpSync(join(PROJECT, path), join(copy, path), { recursive: true });
    tsc(OWN_TOOLS, copy, outDir);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function tsc(tools, sources, outDir) {
  const script = join(tools, "node_modules/typescript/bin/tsc");
  run([process.execPath, script, "-p", join(sources, "client/tsconfig.build.json"), "--outDir", outDir], {
    failure: "the client cannot be compiled",
  });
}

/** With the versions of the project if `versions` are given. */
function hasTools(folder, versions) {
  return TOOLS.every((name) => {
    const manifest = join(folder, "node_modules", name, "package.json");
    return existsSync(manifest) && (!versions || readJson(manifest).version === versions[name]);
  });
}

function installTools() {
  const { devDependencies } = readJson(join(PROJECT, "package.json"));
  if (hasTools(OWN_TOOLS, devDependencies)) return;
  console.error("parley-client: downloading the compiler (once)");
  const folder = mkdtempSync(`${OWN_TOOLS}-`);
  try {
    // Within `npm pack`, npm has set its own options in the environment: `--dry-run` must not count here.
    const options = ["--dry-run=false", "--global=false", "--workspaces=false", "--ignore-scripts"];
    const quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    const names = TOOLS.map((name) => `${name}@${devDependencies[name]}`);
    run([...npm(), "install", "--prefix", folder, ...options, ...quiet, ...names], {
      failure: "the compiler of the client cannot be downloaded",
    });
    rmSync(OWN_TOOLS, { recursive: true, force: true });
    renameSync(folder, OWN_TOOLS);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The npm that runs this, or the one on the path. */
function npm() {
  const { npm_execpath: path = "" } = process.env;
  return path.endsWith("npm-cli.js") ? ["node", path] : ["npm"];
}

function run([command, ...args], { failure }) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${failure}:\n${stdout ?? ""}${stderr ?? ""}${error ?? ""}`);
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** What the subpaths of the package import, and what that imports: modules and declarations, relative to the compiled folder. */
function reachable(compiled) {
  const found = new Set();
  const visit = (path) => {
    if (found.has(path)) return;
    found.add(path);
    const ending = path.endsWith(".d.ts") ? ".d.ts" : ".js";
    for (const [, , name] of readFileSync(join(compiled, path), "utf8").matchAll(IMPORT))
      visit(`${join(dirname(path), name)}${ending}`);
  };
  for (const subpath of Object.values(readJson(join(CLIENT, "package.json")).exports))
    if (typeof subpath === "object")
      for (const file of Object.values(subpath)) visit(file.replace("./dist/", "client/src/"));
  return found;
}

function placeOf(path) {
  const place = PLACES.find(([from]) => path.startsWith(from));
  if (!place) throw new Error(`${path} is no part of the client`);
  return place[1] + path.slice(place[0].length);
}

/** The file with imports that fit its new place. */
function moved(compiled, path) {
  const text = readFileSync(join(compiled, path), "utf8");
  const folder = dirname(placeOf(path));
  return text.replace(IMPORT, (_, before, name) => {
    const target = relative(folder, placeOf(join(dirname(path), name)));
    return `${before}${target.startsWith(".") ? "" : "./"}${target}.js"`;
  });
}

/** It contains its source. The name is only shown by debuggers. */
function sourceMap(compiled, path) {
  const map = readJson(join(compiled, `${path}.map`));
  return JSON.stringify({ ...map, sources: [`parley-client/${placeOf(path).replace(/\.js$/, ".ts")}`] });
}

const [, started] = process.argv;
if (started && realpathSync(started) === fileURLToPath(import.meta.url)) await buildPackage(join(CLIENT, "dist"));
