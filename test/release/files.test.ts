/** The parts of a release that are texts: notes, components, checksums, and where the sources are. In full runs, a whole release, twice. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { packed, SUMS, sha256, writeSums } from "../../scripts/release/archive.ts";
import { type Release, repositoryOf } from "../../scripts/release/facts.ts";
import { notesOf, sectionOf } from "../../scripts/release/notes.ts";
import { completed, type Sbom, sbomOf } from "../../scripts/release/sbom.ts";
import { PROJECT, read } from "../deploy/support/files.ts";
import { run } from "../deploy/support/program.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(1_800_000);

const RELEASE: Release = {
  version: manifest.version,
  commit: "0123456789".repeat(4),
  epochSeconds: 1_700_000_000,
  repository: "https://github.com/owner/parley",
};

describe("release notes", () => {
  const log =
    "# Changelog\n\n## 0.3.0 (2027-01-02)\n\n- New: [a](docs/a.md).\n\n## 0.3.0-rc.1 (unreleased)\n\n- Old.\n";

  test("are the section of the version, whose links lead to the commit", () => {
    expect(sectionOf(log, "0.3.0")).toEqual({ isDated: true, text: "- New: [a](docs/a.md)." });
    expect(sectionOf(log, "0.3.0-rc.1")).toEqual({ isDated: false, text: "- Old." });
    const notes = notesOf({ ...RELEASE, version: "0.3.0" }, sectionOf(log, "0.3.0"));
    expect(notes).toContain(`[a](https://github.com/owner/parley/blob/${RELEASE.commit}/docs/a.md)`);
    expect(notesOf({ ...RELEASE, repository: "" }, sectionOf(log, "0.3.0"))).toContain("- New: a.");
  });

  test("cannot be made of a changelog without the version", () => {
    expect(() => sectionOf(log, "0.4.0")).toThrow('no section "## 0.4.0"');
    expect(() => sectionOf(log, "0.3")).toThrow("no section");
  });

  test("exist for the version of package.json", () => {
    expect(sectionOf(read("CHANGELOG.md"), manifest.version).text).toContain("### Added");
  });
});

test.each([
  ["https://github.com/owner/parley.git", "https://github.com/owner/parley"],
  ["git@github.com:owner/parley.git", "https://github.com/owner/parley"],
  ["ssh://git@code.example.org/owner/parley", "https://code.example.org/owner/parley"],
  ["https://user:token@code.example.org/parley.git", "https://code.example.org/parley"],
  ["/srv/git/parley", ""],
  ["", ""],
])("the repository of the origin %p is %p", (origin, expected) => {
  expect(repositoryOf({}, origin)).toBe(expected);
  const env = { GITHUB_SERVER_URL: "https://github.com", GITHUB_REPOSITORY: "fork/parley" };
  expect(repositoryOf(env, origin)).toBe("https://github.com/fork/parley");
});

test("the list of components has Bun, the release's own name and time, and is the same each time", () => {
  const made: Sbom = {
    specVersion: "1.5",
    metadata: { component: { "bom-ref": "parley@1", name: "parley" } },
    components: [{ "bom-ref": "zod@1", name: "zod" }],
    dependencies: [{ ref: "parley@1", dependsOn: ["zod@1"] }],
  };
  const bom = completed(made, RELEASE) as Record<string, unknown>;
  const runtime = `bun-runtime@${manifest.dependencies.bun}`;
  expect(bom).toMatchObject({
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    metadata: {
      timestamp: "2023-11-14T22:13:20.000Z",
      component: { purl: `pkg:npm/parley-server@${manifest.version}` },
    },
    components: [
      { name: "zod" },
      { "bom-ref": runtime, purl: `pkg:github/oven-sh/bun@bun-v${manifest.dependencies.bun}` },
    ],
    dependencies: [{ ref: "parley@1", dependsOn: ["zod@1", runtime] }, { ref: runtime }],
  });
  expect(completed(made, RELEASE)).toEqual(bom);
});

test("archives and checksums depend on names and contents alone", async () => {
  using folder = scratch();
  const pack = async (name: string, at: number, mode: number): Promise<string> => {
    const inside = join(folder.path, name, "parley");
    mkdirSync(inside, { recursive: true });
    for (const file of at === 0 ? ["a", "b"] : ["b", "a"]) {
      writeFileSync(join(inside, file), file);
      chmodSync(join(inside, file), mode);
      utimesSync(join(inside, file), at, at);
    }
    await packed(join(folder.path, `${name}.tar.gz`), join(folder.path, name), ["parley"], 1000);
    return sha256(join(folder.path, `${name}.tar.gz`));
  };
  expect(await pack("one", 0, 0o640)).toBe(await pack("two", 5000, 0o604));
  await writeSums(join(folder.path, "one/parley"));
  const { code, output } = await run(["sh", "-c", `cd '${folder.path}/one/parley' && sha256sum --check ${SUMS}`]);
  expect([code, output]).toEqual([0, "a: OK\nb: OK\n"]);
});

describe.skipIf(!IS_FULL)("npm", () => {
  test("lists the components of the lockfile, without development packages, as the schema of CycloneDX allows", async () => {
    using folder = scratch();
    const text = await sbomOf(RELEASE, folder.path);
    const names = (JSON.parse(text) as Sbom).components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...Object.keys(manifest.dependencies), "bun-runtime"]));
    expect(names).not.toContain("typescript");
    // The reference implementation of CycloneDX, with its schemas; installed here, because nothing else needs it.
    const packages = [
      "@cyclonedx/cyclonedx-library@10.3.0",
      "ajv@8.20.0",
      "ajv-formats@3.0.1",
      "ajv-formats-draft2019@1.6.1",
    ];
    const install = [
      "npm",
      "install",
      "--prefix",
      folder.path,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      ...packages,
    ];
    expect(await run(install)).toMatchObject({ code: 0 });
    writeFileSync(join(folder.path, "bom.json"), text);
    writeFileSync(
      join(folder.path, "check.cjs"),
      `const { Validation, Spec } = require("@cyclonedx/cyclonedx-library");
const { readFileSync } = require("node:fs");
new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(readFileSync("bom.json", "utf8")).then((found) => {
  console.log(found === null ? "valid" : JSON.stringify(found));
});`,
    );
    expect(await run(["sh", "-c", `cd '${folder.path}' && node check.cjs`])).toEqual({ code: 0, output: "valid\n" });
  });
});

/** A clone, so that what lies in this folder does not count; with its packages. */
async function cloneOf(folder: string): Promise<string> {
  const clone = join(folder, "clone");
  const commands = [
    ["git", "clone", "-q", PROJECT, clone],
    ["cp", "-a", join(PROJECT, "node_modules"), join(clone, "node_modules")],
  ];
  for (const command of commands) expect(await run(command)).toEqual({ code: 0, output: "" });
  return clone;
}

describe.skipIf(!IS_FULL)("npm run release", () => {
  test("makes the same bytes twice, in any folder, which install.sh installs; and refuses what could not be made again", async () => {
    using folder = scratch();
    let clone = await cloneOf(folder.path);
    const release = (...args: string[]) =>
      run(["sh", "-c", 'cd "$0" && exec sh bin/dev scripts/release/release.ts "$@"', clone, ...args]);
    const target = `linux-${process.arch}`;
    const make = async (out: string): Promise<void> => {
      const { code, output } = await release("--target", target, "--out", out);
      expect([code, output.slice(-500)]).toEqual([0, expect.any(String)]);
    };
    const [first, second] = [join(folder.path, "first"), join(folder.path, "second")];
    await make(first);
    // Another person has the project in another place, at another depth.
    const elsewhere = join(folder.path, "another/place");
    mkdirSync(dirname(elsewhere));
    renameSync(clone, elsewhere);
    clone = elsewhere;
    await make(second);
    expect(readFileSync(join(first, SUMS), "utf8")).toBe(readFileSync(join(second, SUMS), "utf8"));
    expect(readdirSync(first)).toEqual(
      expect.arrayContaining(["install.sh", `parley-${target}.tar.gz`, "LICENCES.txt"]),
    );
    const { code } = await run(["sh", "-c", `cd '${first}' && sha256sum --check --quiet ${SUMS}`]);
    expect(code).toBe(0);

    const to = join(folder.path, "bin");
    const installed = await run(["sh", join(first, "install.sh"), "--from", `file://${first}`, "--to", to]);
    expect([installed.code, installed.output]).toEqual([
      0,
      expect.stringContaining(`parley ${manifest.version} is installed`),
    ]);

    expect((await release("--out", first)).output).toContain("is not empty");
    expect((await release("--version", "9.9.9", "--out", join(folder.path, "x"))).output).toContain("not 9.9.9");
    writeFileSync(join(clone, "new.txt"), "");
    expect((await release("--out", join(folder.path, "x"))).output).toContain("not committed");
    expect(existsSync(join(folder.path, "x"))).toBe(false);
  });
});
