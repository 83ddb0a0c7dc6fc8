/** The npm package: what `npm pack` would put into it, compared with what the image gets. */
import { beforeAll, describe, expect, test } from "bun:test";
import { reachesBuild } from "./support/dockerfile.ts";
import { filesOf, PROJECT, read } from "./support/files.ts";

const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.includes("/testing/");

describe("the package", () => {
  let packed: string[];

  beforeAll(async () => {
    const npm = Bun.spawn(["npm", "pack", "--dry-run", "--json", "--ignore-scripts", "--offline"], {
      cwd: PROJECT,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    const [{ files }] = (await new Response(npm.stdout).json()) as [{ files: { path: string }[] }];
    packed = files.map(({ path }) => path);
  });

  test("holds no test and no test support, though there are some", () => {
    expect(filesOf("src").filter(isTest).length).toBeGreaterThan(20);
    expect(packed.filter(isTest)).toEqual([]);
    expect(packed.filter((path) => /^(test|bench|scripts|deploy|examples|\.ci)\//.test(path))).toEqual([]);
  });

  test("holds the same sources and pages as the image", () => {
    const ignore = read(".dockerignore");
    for (const folder of ["src", "web", "client", "bin"]) {
      const inImage = filesOf(folder).filter((path) => reachesBuild(ignore, path));
      const inPackage = packed.filter((path) => path.startsWith(`${folder}/`));
      expect(inPackage.sort()).toEqual(inImage.sort());
    }
  });
});
