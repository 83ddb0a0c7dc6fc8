/** SIGTERM to the first process of every way to start drains and ends the server, as does the end of its terminal, and leaves no orphan. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { Terminal } from "../support/terminal.ts";
import { until, within } from "../support/wait.ts";
import { welcomed } from "../support/wire/connect.ts";

setDefaultTimeout(60_000);

/** An orphan would keep its output pipes open, so reading them needs a timeout. */
const ENDED_WITHIN_MS = 20_000;

const WAYS: Readonly<Record<string, readonly string[]>> = {
  "npm start": ["npm", "start", "--"],
  "bin/parley": ["bin/parley", "up"],
  // As an init system runs a script without its shebang line.
  "sh bin/parley": ["sh", "bin/parley", "up"],
};

for (const [name, command] of Object.entries(WAYS))
  test(`${name}: SIGTERM to its own process id drains the server and closes its port`, async () => {
    using folder = scratch();
    const flags = ["--port", "0", "--host", "127.0.0.1", "--data", folder.path];
    const server = new Server([...command, ...flags], { PARLEY_LOG_FORMAT: "json" }, folder.path, false);
    const ready = await server.logged(({ msg }) => msg === "parley is ready");
    const url = String(ready.url);
    using _orphan = endWithTest([Number(ready.pid)]);
    const wire = await welcomed(url, `key=${server.keys.publishableKey}`);

    // Not to the process group: an orchestrator knows one process id.
    expect(await within("the end of the server", server.kill("SIGTERM"), ENDED_WITHIN_MS)).toBe(0);
    expect((await wire.closed()).code).toBe(1001);
    expect(server.log.map(({ msg }) => msg)).toContain("stopped");
    expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

test("npm start: one Ctrl-C drains the server, although it arrives as two signals", async () => {
  using folder = scratch();
  const flags = ["--port", "0", "--host", "127.0.0.1", "--data", folder.path];
  await using terminal = new Terminal(["npm", "start", "--", ...flags], { HOME: folder.path, NO_COLOR: "1" });
  const [, url = ""] = /open {7}(\S+)\//.exec(await terminal.shows(/open {7}\S+\/\s/)) ?? [];
  const [, key = ""] = /publishable key {2}(\S+)/.exec(await terminal.shows(/admin token .*\n/)) ?? [];
  const wire = await welcomed(url, `key=${key}`);
  terminal.type("\u0003");
  expect((await wire.closed()).code).toBe(1001);
  await terminal.exited;
  expect(terminal.text).toMatch(/stopped\n/);
});

for (const workers of IS_FULL ? ["1", "2"] : ["1"])
  test(`closing the terminal ends the server and frees its data folder, with ${workers} workers`, async () => {
    using folder = scratch();
    const flags = ["--port", "0", "--data", folder.path, "--workers", workers];
    await using terminal = new Terminal(["npm", "start", "--", ...flags], { HOME: folder.path, NO_COLOR: "1" });
    const [, url = ""] = /open {7}(\S+)\//.exec(await terminal.shows(/open {7}\S+\/\s/)) ?? [];
    const [, key = ""] = /publishable key {2}(\S+)/.exec(await terminal.shows(/admin token .*\n/)) ?? [];
    using _orphans = endWithTest(serversOn(folder.path));
    const wire = await welcomed(url, `key=${key}`);
    terminal.hangUp();
    expect((await wire.closed(ENDED_WITHIN_MS)).code).toBe(1001);
    await until("the server has ended", () => serversOn(folder.path).length === 0);
  });

/** The processes with this folder among their arguments. */
function serversOn(data: string): number[] {
  const argumentsOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(data))
    .map(Number);
}

/** A server that outlives its starter is the fault that this file looks for: it must not outlive the test as well. */
function endWithTest(pids: readonly number[]): Disposable {
  return {
    [Symbol.dispose]: () => {
      for (const pid of pids)
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // It has ended, as expected.
        }
    },
  };
}
