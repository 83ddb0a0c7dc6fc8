/** The commands of docs/install.md and of the chart's page name what a release has. What they do is tried by the other files of this folder. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import clientManifest from "../../client/package.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { fileNameOf, ownTarget } from "../../scripts/build/targets.ts";
import { SUMS, sha256 } from "../../scripts/release/archive.ts";
import { DEBIAN_ARCHITECTURES } from "../../scripts/release/debian.ts";
import { SERVER_NAME } from "../../scripts/release/npm.ts";
import { documents } from "../deploy/support/files.ts";
import { run } from "../deploy/support/program.ts";
import { block, blocks } from "../docs/support/page.ts";
import { scratch } from "../support/temp.ts";

const PAGE = "docs/install.md";
const CHART_PAGE = "deploy/helm/parley/README.md";

/** The commands under a heading, as one text with single spaces. */
const under = (heading: string): string =>
  blocks(PAGE)
    .filter((one) => one.heading === heading)
    .map(({ text }) => text.replace(/\s+/g, " "))
    .join(" ");

describe("docs/install.md names", () => {
  test("the script of a release, the packages of npm, the Debian package and the chart as they are called", () => {
    expect(under("With install.sh")).toContain("/releases/latest/download/install.sh | sh");
    expect(under("With npm").trim()).toBe(`npx ${SERVER_NAME} up`);
    expect(under("As a Debian package")).toContain(`./parley_VERSION_${DEBIAN_ARCHITECTURES["linux-x64"]}.deb`);
    expect(under("With Helm")).toContain("helm install parley parley-helm-VERSION.tgz");
    expect(block("client/README.md", "sh").trim()).toBe(`npm install ${clientManifest.name}`);
  });

  test("the file that the build makes", () => {
    expect(manifest.scripts.build).toBeDefined();
    expect(under("One file")).toContain("npm run build #");
    if (process.platform === "linux" && process.arch === "x64")
      expect(under("One file")).toContain(fileNameOf(ownTarget()));
  });

  test("a command that finds a file that is not whole", async () => {
    using folder = scratch();
    const file = join(folder.path, "parley-linux-x64.tar.gz");
    const command = ["sh", "-c", `cd '${folder.path}' && ${under("Verify a download")}`];
    writeFileSync(file, "whole");
    writeFileSync(
      join(folder.path, SUMS),
      `${await sha256(file)}  parley-linux-x64.tar.gz\n${"0".repeat(64)}  other.deb\n`,
    );
    expect((await run(command)).code).toBe(0);
    writeFileSync(file, "cut");
    expect((await run(command)).code).not.toBe(0);
  });

  test("the folder of the image and its flags as deploy/Dockerfile has them", () => {
    const [volume, port] = [/-v parley:(\S+)/, /-p \d+:(\d+)/].map((form) => form.exec(under("As an image"))?.[1]);
    const dockerfile = Bun.file("deploy/Dockerfile");
    expect(dockerfile.text()).resolves.toMatch(new RegExp(`VOLUME.*${volume}`));
    expect(dockerfile.text()).resolves.toMatch(new RegExp(`EXPOSE ${port}`));
  });
});

test("docs/install.md and the page of the chart only set values that the chart has", () => {
  const [values] = documents<Record<string, unknown>>("deploy/helm/parley/values.yaml");
  const shown = [under("With Helm"), ...blocks(CHART_PAGE).map(({ text }) => text)].join(" ");
  const names = [...shown.matchAll(/--set ([\w.]+)=/g)].map(([, name = ""]) => name);
  expect(new Set(names).size).toBeGreaterThan(3);
  for (const name of names) expect([name, valueAt(values, name)]).not.toEqual([name, undefined]);
});

function valueAt(values: unknown, name: string): unknown {
  let at = values;
  for (const part of name.split(".")) at = (at as Record<string, unknown> | undefined)?.[part];
  return at;
}
