/** What a first start creates, where it listens, and what every start reports. */
import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { expectSentence } from "../support/checks.ts";
import { parleyCommand } from "../support/command.ts";
import { type LogLine, runParley, Server } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { Terminal } from "../support/terminal.ts";

setDefaultTimeout(60_000);

const TOKEN = "an-admin-token-of-the-operator";

/** Starts without a listen address and stops; returns the log line that says it is ready. */
async function started(data: string, env: Record<string, string> = {}, ...flags: string[]): Promise<LogLine> {
  const command = parleyCommand("up", "--port", "0", "--data", data, ...flags);
  await using server = new Server(command, { PARLEY_LOG_FORMAT: "json", ...env }, data, false);
  const ready = await server.logged(({ msg }) => msg === "parley is ready");
  return { ...ready, log: server.log.map(({ msg }) => msg).join("\n") };
}

const HOW_TO_OPEN = "--host 0.0.0.0 or PARLEY_HOST=0.0.0.0";

describe("the listen address without a setting", () => {
  test("is loopback once the demo exists, also at later starts; the log says how to open it", async () => {
    using folder = scratch();
    for (const _start of ["first", "second"]) {
      const ready = await started(folder.path);
      expect(ready.host).toBe("127.0.0.1");
      expect(ready.log).toContain(HOW_TO_OPEN);
    }
    const opened = await started(folder.path, { PARLEY_HOST: "0.0.0.0" });
    expect(opened.host).toBe("0.0.0.0");
    expect(opened.log).not.toContain(HOW_TO_OPEN);
    // A setting of one start is not stored: the demo's keys still exist, so the next start uses loopback.
    expect((await started(folder.path)).host).toBe("127.0.0.1");
  });

  test("is all interfaces without a demo", async () => {
    using folder = scratch();
    for (const _start of ["first", "second"])
      expect((await started(folder.path, { PARLEY_DEMO: "off" })).host).toBe("0.0.0.0");
  });

  test("is all interfaces on a store of a version before this rule", async () => {
    using folder = scratch();
    await started(folder.path);
    {
      using db = new Database(join(folder.path, "parley.sqlite"));
      expect(db.run("DELETE FROM meta WHERE name = 'listen'").changes).toBe(1);
    }
    expect((await started(folder.path)).host).toBe("0.0.0.0");
  });
});

describe("first-run.txt", () => {
  const isThere = (data: string): boolean => existsSync(join(data, "first-run.txt"));

  test("is written when something was created, even only the admin token", async () => {
    using folder = scratch();
    const { log } = await started(folder.path, { PARLEY_DEMO: "off" });
    expect([isThere(folder.path), String(log).includes("first-run.txt")]).toEqual([true, true]);
  });

  test("is not written when there is nothing to show", async () => {
    using folder = scratch();
    const { log } = await started(folder.path, { PARLEY_DEMO: "off", PARLEY_ADMIN_TOKEN: TOKEN });
    expect([isThere(folder.path), String(log).includes("first-run.txt")]).toEqual([false, false]);
    // That was the first start, so the next one creates nothing either.
    await started(folder.path);
    expect(isThere(folder.path)).toBe(false);
  });
});

describe("what a start reports", () => {
  test("version, data folder and addresses are fields of the log line that says it is ready", async () => {
    using folder = scratch();
    const ready = await started(folder.path);
    expect(ready).toMatchObject({
      version: manifest.version,
      data: folder.path,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      host: "127.0.0.1",
    });
    const everywhere = await started(folder.path, {}, "--host", "0.0.0.0");
    expect(everywhere.url).toMatch(/^http:\/\/localhost:\d+$/);
    expect(everywhere.host).toBe("0.0.0.0");
    // Commands find it by its data folder.
    expect(everywhere.log).not.toContain("PARLEY_URL");
  });

  test("if commands cannot find its address in the data folder, it says what to export", async () => {
    using folder = scratch();
    // A file where a folder should be: root may write everywhere.
    writeFileSync(join(folder.path, "servers"), "");
    const ready = await started(folder.path);
    expect(ready.log).toContain("commands cannot find this server by its data folder: ");
    expect(ready.log).toContain(`commands need the address of this server: export PARLEY_URL=${ready.url}`);
  });

  test("an IPv6 address is in brackets", async () => {
    using folder = scratch();
    const { url } = await started(folder.path, {}, "--host", "::1");
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  });

  test("on a terminal it is readable text, followed by the keys of the first start", async () => {
    using folder = scratch();
    const command = parleyCommand("up", "--port", "0", "--data", folder.path);
    for (const start of ["first", "second"]) {
      const isPlain = start === "first";
      await using terminal = new Terminal(command, isPlain ? { NO_COLOR: "1" } : {});
      const shown = await terminal.shows(isPlain ? /\n {4}curl .*\/apps/ : /note.*\n/);
      expect(shown.includes("\x1b[1mParley")).toBe(!isPlain);
      // The log, too.
      expect(isPlain && shown.includes("\x1b[")).toBe(false);
      const text = Bun.stripANSI(shown);
      expect(text).toContain(`Parley ${manifest.version} is ready`);
      expect(text).toMatch(/^ {2}open {7}http:\/\/127\.0\.0\.1:\d+\/$/m);
      expect(text).toContain(`  data       ${folder.path}`);
      expect(text).toContain(HOW_TO_OPEN);
      expect(text).toMatch(/^ {2}dashboard {2}http:\/\/127\.0\.0\.1:\d+\/dashboard$/m);
      expect(text).toContain("  try        parley listen chat/1\n             parley publish chat/1 hello\n");
      expect(text).not.toContain("PARLEY_URL");
      expect(/^ {4}admin token +parley_admin_/m.test(text)).toBe(start === "first");
      expect(text).not.toContain('{"level"');
    }
  });

  test("on a terminal, a server on all interfaces lists this machine's addresses too", async () => {
    using folder = scratch();
    const command = parleyCommand("up", "--port", "0", "--data", folder.path);
    await using terminal = new Terminal([...command, "--host", "0.0.0.0"], { PARLEY_DEMO: "off", NO_COLOR: "1" });
    const text = await terminal.shows(/ {2}data .*\n/);
    expect(text).not.toContain(HOW_TO_OPEN);
    const [, shown = ""] = /^ {2}open {7}(.*)$/m.exec(text) ?? [];
    const [first = "", ...others] = shown.split("  ");
    expect(first).toMatch(/^http:\/\/localhost:\d+\/$/);
    for (const address of others) expect((await fetch(`${address}healthz`)).status).toBe(200);
  });

  test("an admin token that is too short refuses the start, with the setting's name and the minimum length", async () => {
    using folder = scratch();
    const refusal = await runParley(["up", "--port", "0", "--data", folder.path], {
      PARLEY_ADMIN_TOKEN: "fifteen-letters",
    });
    expectSentence(refusal, "PARLEY_ADMIN_TOKEN", "at least 16");
    expect([refusal.code, refusal.output.includes("fifteen-letters")]).toEqual([2, false]);
    expect(existsSync(join(folder.path, "parley.sqlite"))).toBe(false);
  });

  test("an address that is not this machine's is refused with --host in the text", async () => {
    using folder = scratch();
    const refusal = await runParley(["up", "--port", "0", "--data", folder.path, "--host", "203.0.113.7"]);
    expectSentence(refusal, "203.0.113.7 is not an address of this machine", "--host");
  });
});
