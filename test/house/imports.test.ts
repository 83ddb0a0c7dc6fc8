/** Which folder may import which. docs/architecture.md says why. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  circles,
  FILES,
  foldersIn,
  IMPORTS,
  orderOf,
  ownFileCount,
  PARENTS,
  placeIn,
  ROOT,
} from "../../scripts/import-graph.ts";

const SRC = join(ROOT, "src");
/** A longer file has more than one subject. */
const LINES_MAX = 350;
/** A fuller folder has more than one subject. */
const FILES_MAX = 25;

/** Each part of src/ may import itself and these; main.ts and version.ts are `top`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  net: [],
  protocol: [],
  testing: [],
  telemetry: [],
  store: ["protocol"],
  access: ["protocol", "store"],
  engine: ["protocol"],
  history: ["protocol", "store", "telemetry"],
  remote: ["history", "protocol", "store", "top"],
  realtime: ["access", "engine", "history", "protocol", "store", "telemetry"],
  rooms: ["access", "protocol", "store"],
  meetings: ["access", "protocol", "rooms", "store"],
  recordings: ["access", "protocol", "store", "telemetry"],
  durable: ["access", "history", "protocol", "recordings", "store", "telemetry", "webhooks"],
  webhooks: ["access", "history", "net", "protocol", "store", "telemetry", "top"],
  http: [
    "access",
    "durable",
    "engine",
    "history",
    "meetings",
    "net",
    "protocol",
    "realtime",
    "recordings",
    "rooms",
    "store",
    "telemetry",
    "webhooks",
  ],
  config: ["access", "net", "protocol", "recordings"],
  verify: ["access", "protocol"],
  node: [
    "access",
    "config",
    "durable",
    "engine",
    "history",
    "http",
    "meetings",
    "net",
    "protocol",
    "realtime",
    "recordings",
    "rooms",
    "store",
    "telemetry",
    "top",
    "webhooks",
  ],
  workers: ["config", "durable", "history", "http", "node", "remote", "store", "telemetry", "top"],
  cli: [
    "access",
    "config",
    "durable",
    "history",
    "node",
    "protocol",
    "recordings",
    "store",
    "telemetry",
    "top",
    "verify",
    "webhooks",
    "workers",
  ],
  top: ["cli"],
};

/** What every part may import: it knows none of them. */
const FOR_ALL = "base";

/** Beside src/: what browsers and clients run. They share the wire's types and codes with the service, and nothing else. */
const BESIDE_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  client: ["src/protocol"],
  web: ["src/protocol", "client"],
};

/** Parts of src/ that import client/: the command line talks as an application does, so it uses the same client. */
const MAY_IMPORT_CLIENT: readonly string[] = ["cli"];

const partOf = (file: string): string => {
  const [folder, rest] = relative(SRC, file).split("/");
  return rest === undefined ? "top" : (folder as string);
};

const isTest = (file: string): boolean => file.endsWith(".test.ts") || /(^|\/)testing\//.test(file);
const files = [...new Bun.Glob("**/*.ts").scanSync(SRC)].filter((file) => !file.endsWith(".test.ts"));
const product = files.filter((file) => !isTest(file));

/** The files of ours that a file imports, relative to `root`. */
function importsOf(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/(?:from|import) "(\.[^"]+\.tsx?)"/g)].map(([, target = ""]) =>
    relative(root, join(root, dirname(file), target)),
  );
}

test("imports point one way", () => {
  const wrong = product.flatMap((file) => {
    const from = partOf(join(SRC, file));
    return importsOf(SRC, file)
      .filter((target) => !target.startsWith(".."))
      .filter((target) => ![from, FOR_ALL].includes(partOf(join(SRC, target))))
      .filter((target) => !MAY_IMPORT[from]?.includes(partOf(join(SRC, target))))
      .map((target) => `${file} imports ${target}`);
  });
  expect(wrong).toEqual([]);
});

test("of src/, only the command line imports client/, and nothing imports web/", () => {
  const wrong = product.flatMap((file) =>
    importsOf(SRC, file)
      .filter((target) => target.startsWith(".."))
      .filter((target) => !(target.startsWith("../client/src/") && MAY_IMPORT_CLIENT.includes(partOf(join(SRC, file)))))
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("every folder of src/ is listed with its imports", () => {
  const folders = [...new Set(files.map((file) => partOf(join(SRC, file))))];
  expect(folders.filter((folder) => !MAY_IMPORT[folder])).toEqual([]);
});

test("web/ and client/ import the protocol and each other, and no other part", () => {
  const wrong = Object.entries(BESIDE_MAY_IMPORT).flatMap(([folder, allowed]) =>
    [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync(ROOT)].flatMap((file) =>
      importsOf(ROOT, file)
        .filter((target) => ![folder, ...allowed].some((prefix) => target.startsWith(`${prefix}/`)))
        .map((target) => `${file} imports ${target}`),
    ),
  );
  expect(wrong).toEqual([]);
});

test("the product imports no test support", () => {
  const wrong = product.flatMap((file) =>
    importsOf(SRC, file)
      .filter(isTest)
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

/** State objects of a node know each other: a channel its members, a member its channel. */
const AGGREGATE = "src/realtime/state/";

test("no files import each other in a circle, types included, but the state objects of a node", () => {
  const outside = circles(IMPORTS).filter((circle) => !circle.every((file) => file.startsWith(AGGREGATE)));
  expect(FILES.length).toBeGreaterThan(500);
  expect(outside.map((circle) => circle.join(" ↔ "))).toEqual([]);
});

test("no files import each other's values in a circle", () => {
  const values = new Map(FILES.map((file) => [file, valueImportsOf(file)]));
  expect(circles(values).map((circle) => circle.join(" ↔ "))).toEqual([]);
});

/** Without `import type` and imports whose names are all types. */
function valueImportsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/^(?:import|export) (?!type )([^"';]*?)\s*(?:from )?"(\.[^"]+\.tsx?)"/gm)]
    .filter(([, names = ""]) => !/^\{(\s*type [\w$]+( as [\w$]+)?,?)+\s*\}$/.test(names.trim()))
    .map(([, , target = ""]) => relative(ROOT, join(ROOT, dirname(file), target)));
}

test("a folder with folders inside lists them all in its README, lowest first", () => {
  expect(PARENTS.length).toBeGreaterThan(15);
  for (const folder of PARENTS)
    expect([...(orderOf(folder) ?? ["no list"])].sort(), `${folder}/README.md`).toEqual(foldersIn(folder));
});

test("within a folder, imports point down the list of its README", () => {
  const wrong = PARENTS.flatMap((folder) => {
    const order = orderOf(folder) ?? [];
    const rank = (file: string): number => order.indexOf(placeIn(folder, file));
    return FILES.filter((file) => file.startsWith(`${folder}/`)).flatMap((file) =>
      (IMPORTS.get(file) ?? [])
        .filter((target) => target.startsWith(`${folder}/`) && rank(target) > rank(file))
        .map((target) => `${file} imports ${target}`),
    );
  });
  expect(wrong).toEqual([]);
});

test("every part of src/ says in a README what it is", () => {
  const parts = [...new Set(files.map((file) => partOf(join(SRC, file))))].filter((part) => part !== "top");
  const firstLines = parts.map((part) => Bun.file(join(SRC, part, "README.md")).text());
  return Promise.all(firstLines).then((texts) => {
    for (const [at, text] of texts.entries()) expect(text, parts[at]).toMatch(/^# .+\n\n\S/);
  });
});

test("no folder of src/ has more than 25 files of its own", () => {
  const folders = [...new Set(FILES.map((file) => dirname(file)))].filter((folder) => folder.startsWith("src"));
  expect(folders.filter((folder) => ownFileCount(folder) > FILES_MAX)).toEqual([]);
});

test("no HTTP resource imports another; what they share has a file of its own", () => {
  const declares = (file: string): boolean =>
    /^export (function|const) \w+Endpoints?\b/m.test(readFileSync(join(SRC, file), "utf8"));
  const resources = product.filter((file) => file.startsWith("http/") && declares(file));
  expect(resources.length).toBeGreaterThan(10);
  const wrong = resources.flatMap((file) =>
    importsOf(SRC, file)
      .filter((target) => resources.includes(target))
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("no file is over 350 lines", () => {
  const long = ["src", "test", "bench", "client", "web"]
    .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync(ROOT)])
    .filter((file) => !/node_modules|\.build|client\/dist/.test(file))
    .map((file) => [file, readFileSync(join(ROOT, file), "utf8").split("\n").length - 1] as const);
  expect(long.filter(([, lines]) => lines > LINES_MAX).map(([file, lines]) => `${file}: ${lines}`)).toEqual([]);
});

test("the protocol does no I/O", () => {
  const wrong = files
    .filter((file) => file.startsWith("protocol/"))
    .filter((file) => /from "(node:|bun)|\bBun\.|\bprocess\./.test(readFileSync(join(SRC, file), "utf8")));
  expect(wrong).toEqual([]);
});

test("every direct dependency has its reason in docs/dependencies.md, and an exact version", async () => {
  const manifest = await Bun.file(join(ROOT, "package.json")).json();
  const page = await Bun.file(join(ROOT, "docs/dependencies.md")).text();
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(page).toContain(`\`${name}\``);
    expect(version as string).toMatch(/^\d+\.\d+\.\d+$/);
  }
});
