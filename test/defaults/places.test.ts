/** Where people install and start Parley: as a package, in folders with files of other programs, with folders for temporary files that cannot be used. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Child, run } from "../docs/support/child.ts";
import { PROJECT } from "../docs/support/page.ts";
import { must } from "../support/namespaces.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";

setDefaultTimeout(60_000);

let home: string;
beforeAll(() => {
  home = tempFolder();
});
afterAll(() => removeFolder(home));

const BIN = join(PROJECT, "bin/parley");
const newFolder = (): string => mkdtempSync(join(home, "ein Ordner für $HOME-"));

/** The address of a server, as it reports it to a pipe. */
const ready = async (server: Child): Promise<string> =>
  (await server.writes(/"url":"([^"]+)".*parley is ready/))[1] ?? "";

describe("a package that npm has installed", () => {
  let folder: string;
  beforeAll(async () => {
    folder = newFolder();
    // As npm does: what it depends on is beside it, and there is no lock file.
    const modules = join(folder, "node_modules");
    await must("cp", "-al", join(PROJECT, "node_modules"), modules);
    const { code, out, err } = await run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder]);
    if (code !== 0) throw new Error(`npm pack: ${err}`);
    await must("tar", "-xzf", join(folder, out.trim()), "-C", folder);
    await must("mv", join(folder, "package"), join(modules, "parley"));
    symlinkSync("../parley/bin/parley", join(modules, ".bin/parley"));
  });

  test("starts in the folder of its user, with every page", async () => {
    await using server = new Child(["node_modules/.bin/parley", "up", "--port", "0"], { cwd: folder });
    const url = await ready(server);
    expect(server.output).toContain(`"data":"${folder}/data"`);
    for (const path of [
      "/",
      "/dashboard",
      "/docs",
      "/docs/tour",
      "/docs/api",
      "/llms.txt",
      "/client.js",
      "/openapi.json",
    ])
      expect([path, (await fetch(url + path)).status]).toEqual([path, 200]);
  });
});

describe("a folder with files of other programs", () => {
  test("a .env and a bunfig.toml there have no effect", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, ".env"), "PARLEY_PORT=1\n");
    writeFileSync(join(cwd, "bunfig.toml"), 'preload = ["./theirs.ts"]\n');
    writeFileSync(join(cwd, "theirs.ts"), 'throw new Error("a script of the user");\n');
    const { code, out, err } = await run([BIN, "config"], { cwd });
    expect([code, err]).toEqual([0, expect.stringMatching(/^A server started here, .*\n$/)]);
    expect(out).toMatch(/port\S* +8080 /);
  });
});
