import { afterAll, expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockPort } from "./port-lock.ts";

const place = mkdtempSync(join(tmpdir(), "port-lock-"));
afterAll(() => rmSync(place, { recursive: true }));
const FOLDER = `parley-locks-${process.getuid?.()}`;
const settings = { host: "--host", port: "--port" };
const lock = (port: number, host = "127.0.0.1", places = [place]) => lockPort({ host, port, settings }, places);
const serve = (port: number) =>
  Bun.serve({ hostname: "127.0.0.1", port, reusePort: true, fetch: () => new Response("") });

test("a port is locked once, before and while workers listen on it", () => {
  const held = lock(0);
  expect(held.port).toBeGreaterThan(0);
  expect(() => lock(held.port)).toThrow(`port ${held.port} of 127.0.0.1 is in use by another program`);
  const workers = [serve(held.port), serve(held.port)];
  expect(() => lock(held.port)).toThrow("is in use by another program");
  held.release();
  expect(() => lock(held.port)).toThrow("is in use by another program");
  for (const worker of workers) void worker.stop(true);
});

test("a released port can be locked again", () => {
  const held = lock(0);
  held.release();
  const second = lock(held.port);
  expect(second.port).toBe(held.port);
  second.release();
});

test("an address that is not one of this machine is refused with the flag's name", () => {
  expect(() => lock(0, "203.0.113.7")).toThrow("--host");
});

test("a socket in the abstract namespace, which any user can open, does not keep a port from being locked", () => {
  const free = lock(0);
  free.release();
  const foreign = Bun.listen({ unix: `\0parley 127.0.0.1 ${free.port}`, socket: { data: () => undefined } });
  const held = lock(free.port);
  expect(held.port).toBe(free.port);
  held.release();
  foreign.stop(true);
});

test("a folder that another user could have made is passed over, and nothing is written to it", () => {
  const elsewhere = join(place, "elsewhere");
  mkdirSync(elsewhere);
  const traps: [string, (path: string) => void][] = [
    ["file", (path) => writeFileSync(path, "")],
    ["link", (path) => symlinkSync(elsewhere, path)],
    [
      "open",
      (path) => {
        mkdirSync(path);
        chmodSync(path, 0o777);
      },
    ],
  ];
  for (const [name, make] of traps) {
    const trap = join(place, name);
    mkdirSync(trap);
    make(join(trap, FOLDER));
    expect(() => lock(0, "127.0.0.1", [trap])).toThrow("there is no folder for the lock");
    const held = lock(0, "127.0.0.1", [trap, place]);
    expect(() => lock(held.port, "127.0.0.1", [trap, place])).toThrow("is in use by another program");
    held.release();
    expect(readdirSync(name === "open" ? join(trap, FOLDER) : elsewhere)).toEqual([]);
  }
});

test("the lock of a process that was killed is free, and a released one leaves no file", async () => {
  const script = `
    const { lockPort } = await import(${JSON.stringify(join(import.meta.dir, "port-lock.ts"))});
    const held = lockPort({ host: "127.0.0.1", port: 0, settings: { host: "", port: "" } }, [${JSON.stringify(place)}]);
    console.log(held.port);
    setInterval(() => held, 1000);`;
  const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  const { value } = await other.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  expect(() => lock(port)).toThrow(`port ${port} of 127.0.0.1 is in use by another program`);
  other.kill("SIGKILL");
  await other.exited;
  expect(readdirSync(join(place, FOLDER))).toEqual([`127.0.0.1%20${port}`]);
  expect(lstatSync(join(place, FOLDER)).mode & 0o777).toBe(0o700);
  lock(port).release();
  expect(readdirSync(join(place, FOLDER))).toEqual([]);
});
