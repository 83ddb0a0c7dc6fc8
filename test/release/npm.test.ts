/** The npm packages: their manifests and files; in full runs, what npm installs from them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import clientManifest from "../../client/package.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import type { Release } from "../../scripts/release/facts.ts";
import {
  allowedFiles,
  packNpm,
  publishedClient,
  SERVER_NAME,
  serverManifest,
  shrinkwrapOf,
} from "../../scripts/release/npm.ts";
import { freePort } from "../../src/testing/ports.ts";
import { filesOf, read } from "../deploy/support/files.ts";
import { Running, run } from "../deploy/support/program.ts";
import { WITH_BEFORE } from "../support/release-before.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { DataOfBefore } from "./support/before.ts";
import { ready, timed, tourPasses } from "./support/service.ts";

setDefaultTimeout(600_000);

const RELEASE: Release = {
  version: manifest.version,
  commit: "0".repeat(40),
  epochSeconds: 1_700_000_000,
  repository: "https://github.com/owner/parley",
};

const isTest = (path: string): boolean => /\.test\.tsx?$/.test(path) || path.includes("/testing/");

describe("the package of the service", () => {
  test("has the sources, pages and documentation, no test, and nothing else", async () => {
    const packed = await allowedFiles();
    const kept = (folder: string): string[] =>
      filesOf(folder).filter((path) => !isTest(path) && !path.startsWith("web/.build/"));
    const expected = ["src", "web", "client/src", "docs"].flatMap(kept);
    const pages = ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"];
    const others = [...pages, "bin/parley", "bin/setup.sh", "package.json"];
    expect(filesOf("src").filter(isTest).length).toBeGreaterThan(20);
    expect(packed.toSorted()).toEqual([...expected, ...others].toSorted());
  });

  test("has a manifest that can be published: a free name, a repository, exact dependencies, no scripts", () => {
    const made = serverManifest(RELEASE);
    expect(made).toMatchObject({
      name: "parley-server",
      version: manifest.version,
      license: "Apache-2.0",
      repository: { type: "git", url: "git+https://github.com/owner/parley.git" },
      publishConfig: { access: "public", provenance: true },
      dependencies: manifest.dependencies,
      bin: { parley: "bin/parley" },
    });
    for (const field of ["private", "scripts", "devDependencies", "overrides", "allowScripts"])
      expect(made).not.toHaveProperty(field);
    expect(serverManifest({ ...RELEASE, repository: "" })).not.toHaveProperty("repository");
  });

  test("has a lockfile with the versions of the repository, without development packages", () => {
    const { name, packages } = JSON.parse(shrinkwrapOf(read("package-lock.json"), serverManifest(RELEASE)));
    const { packages: all } = JSON.parse(read("package-lock.json"));
    expect(name).toBe(SERVER_NAME);
    expect(packages[""].dependencies).toEqual(manifest.dependencies);
    expect(packages["node_modules/@nats-io/nuid"].version).toBe(manifest.overrides["@nats-io/nuid"]);
    const names = Object.keys(packages).filter((path) => path !== "");
    expect(
      names.filter((path) => all[path].dev || JSON.stringify(packages[path]) !== JSON.stringify(all[path])),
    ).toEqual([]);
    for (const dependency of Object.keys(manifest.dependencies)) expect(names).toContain(`node_modules/${dependency}`);
    expect(names).not.toContain("node_modules/typescript");
  });
});

test("the client has a manifest that can be published, with the exports of the repository", () => {
  const made = publishedClient(RELEASE);
  expect(made).toMatchObject({
    name: "parley-client",
    version: manifest.version,
    repository: { directory: "client" },
    publishConfig: { access: "public", provenance: true },
    exports: clientManifest.exports,
  });
  for (const field of ["private", "scripts", "dependencies"]) expect(made).not.toHaveProperty(field);
});

/** The largest that each file may have, so that something large does not get in unnoticed. */
const LARGEST_KIB: Readonly<Record<string, number>> = { [SERVER_NAME]: 4096, "parley-client": 128 };

describe.skipIf(!IS_FULL)("installed by npm without install scripts,", () => {
  const folder = tempFolder();
  const [packs, app] = [join(folder, "packs"), join(folder, "app")];
  const npm = (...args: string[]): ReturnType<typeof run> => run(["npm", "--prefix", app, ...args]);

  beforeAll(async () => {
    mkdirSync(packs);
    mkdirSync(app);
    await packNpm(RELEASE, packs, join(folder, "work"));
    writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true }));
    const files = Object.keys(LARGEST_KIB).map((name) => join(packs, `${name}-${manifest.version}.tgz`));
    const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...files];
    const { code, output } = await timed("npm: installed in", () => npm(...install));
    if (code !== 0) throw new Error(output);
  });
  afterAll(() => removeFolder(folder));

  const program = join(app, "node_modules/.bin/parley");

  /** Not by npm: it does not pass SIGTERM on. */
  async function whileItRuns(data: string, use: (url: string) => Promise<void>): Promise<void> {
    const port = await freePort();
    const service = new Running([program, "up", "--port", String(port), "--data", data, "--log-format", "json"]);
    try {
      await timed("npm: started after", () => ready(service));
      await use(`http://127.0.0.1:${port}`);
    } finally {
      await service.stop();
    }
    expect(service.output).toContain('"msg":"stopped"');
  }

  test("both are as small as they should be", () => {
    for (const [name, kib] of Object.entries(LARGEST_KIB)) {
      const bytes = Bun.file(join(packs, `${name}-${manifest.version}.tgz`)).size;
      console.log(`${name}: ${(bytes / 1024).toFixed(0)} KiB packed`);
      expect(bytes).toBeLessThan(kib * 1024);
    }
  });

  test("two runs make the same bytes", async () => {
    const second = join(folder, "second");
    mkdirSync(second);
    await packNpm(RELEASE, second, join(folder, "work again"));
    for (const name of readdirSync(packs))
      expect([name, readFileSync(join(second, name)).equals(readFileSync(join(packs, name)))]).toEqual([name, true]);
  });

  test("the service runs, also by npx, answers with its pages, and has built none of them", async () => {
    const version = await npm("exec", "--", "parley", "version");
    expect(version.output).toContain(`parley ${manifest.version}`);
    // What it tells its user to type works in this folder.
    expect((await npm("exec", "--", "parley", "kyes")).output).toContain('"npx parley help"');
    await whileItRuns(join(folder, "data"), async (url) => {
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect(await (await fetch(`${url}/`)).text()).toContain("<script");
      const { sources, stamp } = JSON.parse(
        readFileSync(join(app, "node_modules", SERVER_NAME, "web/.build/manifest.json"), "utf8"),
      );
      // It has found the pages by their sources, and noted the dates of this folder.
      expect([sources, stamp]).toEqual([builtSources(), expect.stringMatching(/^[0-9a-f]{64}$/)]);
    });
  });

  /** The sources of the pages in the package as it was made. */
  const builtSources = (): string =>
    JSON.parse(readFileSync(join(folder, "work/server/web/.build/manifest.json"), "utf8")).sources;

  test("the tour passes, with a recorded meeting", () => timed("npm: tour passed in", () => tourPasses(program)));

  test.skipIf(!WITH_BEFORE)("the service goes on with the data folder of 0.1.0", async () => {
    const data = join(folder, "upgraded");
    const before = await DataOfBefore.once();
    before.layInto(data);
    await whileItRuns(data, (url) => before.goesOnAt(url, data));
  });

  test("the client can be imported", async () => {
    const program = 'const { Parley } = await import("parley-client"); console.log(typeof Parley);';
    const { output } = await run(["sh", "-c", `cd '${app}' && node --input-type=module -e '${program}'`]);
    expect(output.trim()).toBe("function");
    expect(existsSync(join(app, "node_modules/parley-client/dist/index.d.ts"))).toBe(true);
  });

  test("a removal leaves the data", async () => {
    expect(await timed("npm: removed in", () => npm("uninstall", ...Object.keys(LARGEST_KIB)))).toMatchObject({
      code: 0,
    });
    expect([existsSync(program), existsSync(join(app, "node_modules", SERVER_NAME))]).toEqual([false, false]);
    expect(existsSync(join(folder, "data/master.key"))).toBe(true);
  });
});
