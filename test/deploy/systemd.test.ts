/** The unit file, checked by systemd's own tools; systemd does not start it here. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS } from "../../src/config/settings.ts";
import { startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { welcomed } from "../support/wire/connect.ts";
import { PROJECT, read } from "./support/files.ts";
import { run } from "./support/program.ts";

const unit = read("deploy/systemd/parley.service");
const value = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";
const noTool = !Bun.which("systemd-analyze");

/** Whether /opt/parley exists is not part of the check. */
function inPlace(folder: string, text = unit): string {
  const file = join(folder, "parley.service");
  writeFileSync(file, text.replaceAll("/opt/parley", PROJECT));
  return file;
}

test("the unit gives a node longer to stop than its drain can take, and stops it with SIGTERM", () => {
  expect(Number(value("TimeoutStopSec"))).toBeGreaterThan(2 * SETTINGS.drainSeconds.initial);
  expect(value("KillSignal")).toBe("SIGTERM");
  expect(value("ExecStart")).toBe("/opt/parley/bin/parley up");
  const set = value("Environment").split(" ");
  expect(set).toContain(`PARLEY_DATA=/var/lib/${value("StateDirectory")}`);
  expect(set).toEqual(expect.arrayContaining(["PARLEY_HOST=0.0.0.0", "PARLEY_DEMO=off"]));
});

test("the sockets of workers are where `parley reload` outside of the unit finds them", () => {
  expect([value("PrivateTmp"), value("RuntimeDirectory")]).toEqual(["yes", "parley"]);
  expect(value("RuntimeDirectoryMode")).toBe("0700");
});

test.skipIf(noTool)("systemd finds nothing wrong with the unit", async () => {
  using folder = scratch();
  expect(await run(["systemd-analyze", "verify", "--man=no", inPlace(folder.path)])).toEqual({ code: 0, output: "" });
  const wrong = unit.replace("ProtectSystem=strict", "ProtectSystem=very");
  expect((await run(["systemd-analyze", "verify", "--man=no", inPlace(folder.path, wrong)])).output).toContain("very");
});

test.skipIf(noTool)("systemd rates its exposure as low", async () => {
  using folder = scratch();
  const assess = (text: string) =>
    run(["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", inPlace(folder.path, text)]);
  expect((await assess(unit)).code).toBe(0);
  expect((await assess(unit.replace(/^(Protect|Restrict|Capability|SystemCall).*\n/gm, ""))).code).not.toBe(0);
});

/** The names in systemd's set, including nested sets. */
function members(sets: string, name: string): string[] {
  const own = new RegExp(`^${name}\\n((?: {4}.*\\n)*)`, "m").exec(sets)?.[1] ?? "";
  const names = own
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  return names.flatMap((word) => (word.startsWith("@") ? members(sets, word) : [word]));
}

/** The tracer writes its last line shortly after the traced process has ended. */
async function wholeTrace(file: string, pid: number): Promise<string> {
  const end = new RegExp(`^${pid} +\\+\\+\\+ exited with 0`, "m");
  await until("the end of the trace", () => end.test(readFileSync(file, "utf8")));
  return readFileSync(file, "utf8");
}

test.skipIf(noTool || !Bun.which("strace"))(
  "a node makes no call and opens no socket that the unit forbids",
  async () => {
    using folder = scratch();
    const trace = join(folder.path, "trace");
    // -D: the server is the child of this process, and the tracer its grandchild.
    const tracer = ["strace", "-f", "-D", "-q", "-o", trace, "-e", "trace=!read,write,futex"];
    const server = await startParley({ wrap: tracer });
    const listener = await welcomed(server.url, `key=${server.keys.publishableKey}`);
    await listener.join("news");
    listener.close();
    await listener.closed();
    await server.stop();
    const text = await wholeTrace(trace, server.pid);
    const used = new Set([...text.matchAll(/^\d+ +([a-z_0-9]+)\(/gm)].map(([, name = ""]) => name));
    const { output: sets } = await run(["systemd-analyze", "--no-pager", "syscall-filter"]);
    const allowed = new Set(members(sets, value("SystemCallFilter")));
    expect(allowed.size).toBeGreaterThan(300);
    expect(used.size).toBeGreaterThan(30);
    expect([...used].filter((name) => !allowed.has(name))).toEqual([]);
    const families = new Set([...text.matchAll(/ socket\((AF_\w+)/g)].map(([, family = ""]) => family));
    expect(families).toContain("AF_INET");
    for (const family of families) expect(value("RestrictAddressFamilies").split(" ")).toContain(family);
  },
);
