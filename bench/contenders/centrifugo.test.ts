/** Which program is measured: an installed Centrifugo comes before one that would have to be built. */
import { expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../../test/support/temp.ts";
import { type Got, onPath } from "../lib/install.ts";
import { program } from "./centrifugo.ts";

const build = (): Got => ({ path: "/built/centrifugo" });
const neverBuilt = (): Got => {
  throw new Error("it was built although one is installed");
};

test("a program on the PATH is found with the version that it reports", () => {
  const folder = tempFolder();
  try {
    const path = join(folder, "centrifugo");
    writeFileSync(path, '#!/bin/sh\necho "Centrifugo v6.9.3 (Go version: go1.26.1)"\n');
    chmodSync(path, 0o755);
    expect(onPath("centrifugo", ["version"], folder)).toEqual({ path, version: "6.9.3" });
    expect(onPath("centrifugo", ["version"], "/nowhere")).toBeUndefined();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an installed Centrifugo is used, and named with its version and place", () => {
  const path = "/opt/bin/centrifugo";
  const found = program({ path, version: "6.9.3" }, neverBuilt);
  expect(found).toEqual({ path, version: `Centrifugo 6.9.3 (${path}, found on the PATH)` });
});

test("one of another major version is passed over, because its configuration differs", () => {
  const found = program({ path: "/opt/bin/centrifugo", version: "5.4.9" }, build);
  expect(found).toHaveProperty("path", "/built/centrifugo");
  expect(found.version).toContain("not used: /opt/bin/centrifugo on the PATH, which is 5.4.9");
});
