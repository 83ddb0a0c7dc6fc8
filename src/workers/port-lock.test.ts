import { expect, test } from "bun:test";
import { lockPort } from "./port-lock.ts";

const settings = { host: "--host", port: "--port" };
const lock = (port: number, host = "127.0.0.1") => lockPort({ host, port, settings });
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
