/** `parley health` against a server that is alive, one that is not well, and none. */
import { afterAll, expect, test } from "bun:test";
import { freePort } from "../../../testing/ports.ts";
import { Input } from "../../line/input.ts";
import { health } from "./health.ts";

let status = 200;
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ url }) => new Response("", { status: new URL(url).pathname === "/healthz" ? status : 404 }),
});
afterAll(() => server.stop(true));

const at = (port: number, host: string): Promise<object | undefined> =>
  health(new Input([], new Map([["port", String(port)]]), { PARLEY_HOST: host }));

test("a server that answers is healthy, also if it listens on all addresses", async () => {
  status = 200;
  for (const host of ["", "0.0.0.0", "127.0.0.1"])
    expect(await at(server.port ?? 0, host)).toMatchObject({ value: { url: `http://127.0.0.1:${server.port}` } });
});

test("a server that answers otherwise is not, and neither is none", async () => {
  status = 503;
  await expect(at(server.port ?? 0, "0.0.0.0")).rejects.toMatchObject({ code: "unhealthy" });
  await expect(at(await freePort(), "0.0.0.0")).rejects.toMatchObject({ code: "unreachable" });
});
