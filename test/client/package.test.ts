/** The file that `npm pack` makes of parley-client, installed into an empty project and used there under Node and Bun. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../client/package.json" with { type: "json" };
import service from "../../package.json" with { type: "json" };
import { serverForTests } from "../support/for-tests.ts";
import { EmptyProject, PROJECT } from "./support/project.ts";

setDefaultTimeout(60_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

const server = await serverForTests();
let project: EmptyProject;
let installed: string;
let files: string[];

beforeAll(async () => {
  project = await EmptyProject.withPackage();
  project.link("ws");
  installed = join(project.folder, "node_modules/parley-client");
  files = (readdirSync(installed, { recursive: true, withFileTypes: true }) ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
});

afterAll(() => project?.remove());

describe("the package", () => {
  test("has the version and the licence of the service", () => {
    expect(manifest.version).toBe(service.version);
    expect(manifest.license).toBe(service.license);
    expect(readFileSync(join(installed, "LICENSE"), "utf8")).toBe(readFileSync(join(PROJECT, "LICENSE"), "utf8"));
  });

  test("holds modules, types and source maps, and nothing else", () => {
    const others = files.filter((file) => !/^dist\/.*\.(js|d\.ts|js\.map)$/.test(file));
    expect(others.sort()).toEqual(["LICENSE", "README.md", "package.json"]);
    expect(files.filter((file) => /\.test\.|testing/.test(file))).toEqual([]);
  });

  test("has a file for each of its subpaths, with types", () => {
    const entries = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === "string" ? [entry] : Object.values(entry),
    );
    expect(entries.filter((entry) => !files.includes(entry.slice(2)))).toEqual([]);
  });

  test("names each of its subpaths in its README", () => {
    const page = readFileSync(join(installed, "README.md"), "utf8");
    const named = [...page.matchAll(/^\| `(parley-client[^`]*)` \|/gm)].map(([, name = ""]) => name);
    const offered = Object.keys(manifest.exports).filter((subpath) => subpath !== "./package.json");
    expect(named.sort()).toEqual(offered.map((subpath) => subpath.replace(/^\./, "parley-client")).sort());
  });

  test("depends on nothing, and asks for peers only where a subpath needs one", () => {
    expect(manifest).not.toHaveProperty("dependencies");
    for (const peer of Object.keys(manifest.peerDependencies))
      expect(manifest.peerDependenciesMeta).toHaveProperty(peer, { optional: true });
  });

  test("refers to no file outside itself", () => {
    const wrong = files.flatMap((file) => {
      if (!/\.(js|d\.ts)$/.test(file)) return [];
      const text = readFileSync(join(installed, file), "utf8");
      const targets = [...text.matchAll(/(?:from|import) "([^"]+)"|import\("([^"]+)"\)/g)].map(
        ([, a, b]) => a ?? b ?? "",
      );
      return targets
        .filter((target) =>
          target.startsWith(".") ? !isThere(file, target) : !["react", "ws", "node:module"].includes(target),
        )
        .map((target) => `${file}: ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  /** A declaration names the module that it describes. */
  function isThere(file: string, target: string): boolean {
    const path = join(file, "..", target);
    return files.includes(file.endsWith(".d.ts") ? path.replace(/\.js$/, ".d.ts") : path);
  }

  const happened = {
    heard: { text: "hello" },
    isSeen: true,
    code: "peer_not_found",
    isOneClass: true,
    earlier: 0,
    states: 0,
  };

  const runtimes = { Node: "node", Bun: process.execPath } as const;

  test.each([
    ["Node", "parley-client"],
    ["Node", "parley-client/node"],
    ["Bun", "parley-client"],
    ["Bun", "parley-client/node"],
  ] as const)("works under %s when imported from %s", async (runtime, subpath) => {
    project.write("talk.mjs", readFileSync(join(import.meta.dir, "apps/talk.mjs"), "utf8"));
    const output = await project.run([runtimes[runtime], "talk.mjs", subpath, server.url, server.keys.publishableKey]);
    expect(JSON.parse(output)).toEqual(happened);
  });

  test("is loaded by require() too, where Node allows that", async () => {
    const talk = readFileSync(join(import.meta.dir, "apps/talk.mjs"), "utf8")
      .replaceAll(/^import (.*) from (.*);$/gm, "const $1 = require($2);")
      .replace("await import(from)", "require(from)");
    project.write("talk.cjs", `(async () => {${talk}})();`);
    const command = ["node", "--no-warnings", "talk.cjs", "parley-client", server.url, server.keys.publishableKey];
    expect(JSON.parse(await project.run(command))).toEqual(happened);
  });

  describe("under Node 20 without `ws`", () => {
    const name = "without-websocket.mjs";
    let bare: EmptyProject;

    beforeAll(async () => {
      bare = await EmptyProject.withPackage();
      bare.write(name, readFileSync(join(import.meta.dir, "apps", name), "utf8"));
      bare.write("talk.mjs", readFileSync(join(import.meta.dir, "apps/talk.mjs"), "utf8"));
    });

    afterAll(() => bare?.remove());

    test("works over HTTP", async () => {
      const { url, keys } = server;
      const output = await bare.run(["node", name, "parley-client", url, keys.publishableKey]);
      expect(JSON.parse(output)).toEqual(happened);
    });

    test("works with --experimental-websocket", async () => {
      const { url, keys } = server;
      const command = ["node", "--experimental-websocket", "talk.mjs", "parley-client", url, keys.publishableKey];
      expect(JSON.parse(await bare.run(command))).toEqual(happened);
    });
  });

  test("has no script that runs where it is installed, so that a folder of it can be installed", async () => {
    const { scripts = {} } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(Object.keys(scripts)).toEqual(["prepack"]);
    // npm runs `prepare` of a folder, but not of a tarball.
    const app = EmptyProject.empty();
    cpSync(installed, join(app.folder, "vendor/parley-client"), { recursive: true });
    await app.run(["npm", "install", "--offline", "--no-audit", "--no-fund", "./vendor/parley-client"]);
    expect(existsSync(join(app.folder, "node_modules/parley-client/dist/index.js"))).toBe(true);
    app.remove();
  });

  /** A folder of Parley in which a server may be running: its packages must stay as they are. */
  async function packIn(packages: readonly string[]): Promise<void> {
    const parley = EmptyProject.empty();
    for (const path of ["package.json", "package-lock.json", "tsconfig.json", "bin", "client", "src/protocol"])
      cpSync(join(PROJECT, path), join(parley.folder, path), { recursive: true, filter: isSource });
    parley.link(...packages);
    // Installed before the lockfile has changed, as after a pull: the command line would install anew.
    parley.write("node_modules/.package-lock.json", "{}");
    const longAgo = new Date(0);
    utimesSync(join(parley.folder, "node_modules/.package-lock.json"), longAgo, longAgo);
    const before = packagesIn(parley);
    // Whatever the developer's npm is set to: prepack is what is tested.
    await parley.run(["npm", "pack", "--no-ignore-scripts", "./client", "--pack-destination", parley.folder]);
    const contents = await parley.run(["tar", "-tzf", `parley-client-${service.version}.tgz`]);
    expect(contents.trim().split("\n").sort()).toEqual(files.map((file) => `package/${file}`).sort());
    expect(packagesIn(parley)).toEqual(before);
    parley.remove();
  }

  const isSource = (path: string): boolean => !/client\/(dist|\.tools)/.test(path);
  const packagesIn = ({ folder }: EmptyProject): string[] =>
    (readdirSync(join(folder, "node_modules"), { recursive: true }) as string[]).sort();

  test("is built by npm pack, which installs nothing where the compiler is installed", async () => {
    const types = ["@types/react", "@types/ws", "@types/node", "csstype", "undici-types"];
    await packIn(["typescript", "@typescript", ...types]);
  });

  test.skipIf(!IS_FULL)(
    "is built by npm pack without the development packages, with a compiler of its own",
    async () => {
      await packIn([]);
    },
  );
});
