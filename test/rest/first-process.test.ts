/** SIGTERM to the first process of every way to start drains and ends the server, and leaves no orphan. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Server } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { Terminal } from "../support/terminal.ts";

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
    using _orphan = endsWithTest(Number(ready.pid));
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1?key=${server.keys.publishableKey}`);
    const closed = Promise.withResolvers<number>();
    socket.onclose = ({ code }) => closed.resolve(code);
    await new Promise<unknown>((resolve) => {
      socket.onmessage = resolve;
    });

    // Not to the process group: an orchestrator knows one process id.
    const late = Bun.sleep(ENDED_WITHIN_MS).then(() => "the server goes on");
    expect(await Promise.race([server.kill("SIGTERM"), late])).toBe(0);
    expect(await closed.promise).toBe(1001);
    expect(server.log.map(({ msg }) => msg)).toContain("stopped");
    expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

test("npm start: one Ctrl-C drains the server, although it arrives as two signals", async () => {
  using folder = scratch();
  const flags = ["--port", "0", "--host", "127.0.0.1", "--data", folder.path];
  await using terminal = new Terminal(["npm", "start", "--", ...flags], { HOME: folder.path });
  const [, url = ""] = /open {7}(\S+)\//.exec(await terminal.shows(/open {7}\S+\/\s/)) ?? [];
  const [, key = ""] = /publishable key {2}(\S+)/.exec(await terminal.shows(/admin token .*\n/)) ?? [];
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1?key=${key}`);
  const closed = Promise.withResolvers<number>();
  socket.onclose = ({ code }) => closed.resolve(code);
  await new Promise<unknown>((resolve) => {
    socket.onmessage = resolve;
  });
  terminal.type("\u0003");
  expect(await closed.promise).toBe(1001);
  await terminal.exited;
  expect(terminal.text).toMatch(/stopped\n/);
});

/** A server that outlives its starter is the fault that this file looks for: it must not outlive the test as well. */
function endsWithTest(pid: number): Disposable {
  return {
    [Symbol.dispose]: () => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended, as expected.
      }
    },
  };
}
