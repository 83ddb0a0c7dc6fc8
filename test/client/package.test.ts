/** The file that `npm pack` makes of parley-client, installed into an empty project and used there under Node and Bun. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../client/package.json" with { type: "json" };
import service from "../../package.json" with { type: "json" };
import { serverForTests } from "../support/for-tests.ts";
import { scratch } from "../support/temp.ts";
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
      typeof entry === "string" ? [entry] : [entry.types, entry.default],
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
        .filter((target) => (target.startsWith(".") ? !isThere(file, target) : !["react", "ws"].includes(target)))
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
    ["Node", "parley-client/node"],
    ["Bun", "parley-client"],
    ["Bun", "parley-client/node"],
  ] as const)("works under %s when imported from %s", async (runtime, subpath) => {
    project.write("talk.mjs", readFileSync(join(import.meta.dir, "apps/talk.mjs"), "utf8"));
    const output = await project.run([runtimes[runtime], "talk.mjs", subpath, server.url, server.keys.publishableKey]);
    expect(JSON.parse(output)).toEqual(happened);
  });

  test("names the right subpath where there is no WebSocket", async () => {
    const name = "without-websocket.mjs";
    project.write(name, readFileSync(join(import.meta.dir, "apps", name), "utf8"));
    expect(JSON.parse(await project.run(["node", name]))).toEqual({
      ofServer: "connecting",
      message: expect.stringContaining("parley-client/node"),
    });
  });

  test.skipIf(!IS_FULL)("is built by npm pack itself", async () => {
    using folder = scratch();
    const command = ["npm", "pack", "./client", "--pack-destination", folder.path];
    const child = Bun.spawn(command, { cwd: PROJECT, stdio: ["ignore", "ignore", "ignore"] });
    expect(await child.exited).toBe(0);
    const contents = Bun.spawn(["tar", "-tzf", join(folder.path, `parley-client-${service.version}.tgz`)]);
    const paths = (await new Response(contents.stdout).text()).trim().split("\n");
    expect(paths.sort()).toEqual(files.map((file) => `package/${file}`).sort());
  });
});
