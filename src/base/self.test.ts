import { expect, test } from "bun:test";
import { join } from "node:path";
import { childEnvironment, refusalOf, selfCommand, selfFlags } from "./self.ts";

const MAIN = join(import.meta.dir, "../main.ts");

test("in a checkout, the program is Bun with its flags and the main file", () => {
  expect(selfCommand({ flags: ["--smol"], main: MAIN })).toEqual([process.execPath, "--smol", MAIN]);
  expect(selfCommand()).toEqual([process.execPath, ...process.execArgv, Bun.main]);
  expect(selfFlags("--smol")).toEqual({});
});

test("a child gets the environment, what it is for, and nothing that makes it plain Bun", () => {
  expect(childEnvironment("worker", { PATH: "/bin", BUN_BE_BUN: "1", EMPTY: undefined })).toEqual({
    PATH: "/bin",
    PARLEY_CHILD: "worker",
  });
});

test("a child runs the command that it was started for, and no other", () => {
  const env = childEnvironment("mend", {});
  expect(refusalOf(["mend", "in", "out"], env)).toBeUndefined();
  expect(refusalOf(["up"], {})).toBeUndefined();
  for (const argv of [["up"], ["--smol", "mend"], ["worker", "0", "/tmp"], []])
    expect(refusalOf(argv, env)).toContain('started for "mend"');
});

test("a service that a child would start by mistake ends at once", async () => {
  const child = Bun.spawn([process.execPath, "--no-env-file", MAIN, "up", "--port", "0"], {
    env: childEnvironment("mend", {}),
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect([await child.exited, await child.stdout.text()]).toEqual([1, ""]);
  expect(await child.stderr.text()).toStartWith('parley: this process was started for "mend"');
});
