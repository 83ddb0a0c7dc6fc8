import { afterAll, afterEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { send } from "./transfer.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-transfer-"));
const sleep = spyOn(Bun, "sleep").mockResolvedValue(undefined);
afterEach(() => sleep.mockClear());
// All files share a process: loops that wait between their steps would not wait.
afterAll(() => sleep.mockRestore());

/** Refuses the first requests of each kind with 429, then takes everything. */
function serve(refusals: number, retryAfter: string): { url: string; stop: () => Promise<void>; held: () => number } {
  let held = 0;
  const asked = { query: 0, bytes: 0 };
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const isQuery = request.headers.get("content-range")?.startsWith("bytes */") === true;
      if (asked[isQuery ? "query" : "bytes"]++ < refusals)
        return Response.json(
          { message: "too many", error: { code: "rate_limited" } },
          { status: 429, headers: { "Retry-After": retryAfter } },
        );
      if (!isQuery) held += (await request.bytes()).length;
      return Response.json({ offset: held });
    },
  });
  return { url: server.url.href, stop: () => server.stop(true), held: () => held };
}

const file = join(folder, "file");
writeFileSync(file, "0123456789");

test("an upload that is refused for its rate waits as long as the server asks, and goes on", async () => {
  const server = serve(2, "7");
  await send(file, 10, { url: server.url, headers: {} });
  expect(server.held()).toBe(10);
  // The first question, the first bytes, and the question behind them.
  expect(sleep.mock.calls.map(([ms]) => ms)).toEqual([7000, 7000, 7000, 7000]);
  await server.stop();
});

test("one that is refused without end fails with the server's reason, and never waits for long at a time", async () => {
  const server = serve(Number.POSITIVE_INFINITY, "100000");
  await expect(send(file, 10, { url: server.url, headers: {} })).rejects.toMatchObject({ code: "rate_limited" });
  expect(Math.max(...sleep.mock.calls.map(([ms]) => Number(ms)))).toBe(30_000);
  await server.stop();
  rmSync(folder, { recursive: true });
});
