/** docs/meetings.md: its commands are pasted into a shell, and its table of fields is compared with the source. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIELD_NAMES } from "../../src/rooms/fields.ts";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { run } from "./support/child.ts";
import { block, blocks, readPage } from "./support/page.ts";
import { type Expected, hold, paste } from "./support/shell.ts";

const PAGE = "docs/meetings.md";

let server: Server;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_ADMIN_TOKEN: "" } });
});
afterAll(() => server.stop());

const nothing = (command: RegExp): Expected => ({ command, holds: () => undefined });
const answer = (command: RegExp, fields: object): Expected => ({
  command,
  holds: ({ out }) => expect(JSON.parse(out)).toMatchObject(fields),
});

test("every command of the page does what it says", async () => {
  const { port } = new URL(server.url);
  const script = blocks(PAGE)
    .filter(({ language }) => language === "sh")
    .map(({ text }) => text)
    .join("")
    .replaceAll("localhost:8080", `localhost:${port}`)
    .replaceAll("data/first-run.txt", `${server.data}/first-run.txt`);
  const address = `http://demo.localhost:${port}/weekly`;
  hold(await paste(script, { PARLEY_URL: server.url, PARLEY_DATA: server.data }), [
    { command: /rooms create/, holds: ({ out }) => expect(out).toMatch(/^roomName +weekly$/m) },
    { command: /rooms open/, holds: ({ out }) => expect(out).toStartWith(`${address}#token=`) },
    { command: /rooms meetings/, holds: ({ err }) => expect(err).toBe("No meetings match.\n") },
    { command: /rooms end/, holds: ({ out }) => expect(out).toContain("The room was empty.") },
    { command: /apps plan/, holds: ({ out }) => expect(out).toContain("https://shop.example.com") },
    nothing(/^export APP_SECRET=/),
    answer(/\/door$/, { roomName: "weekly", privacy: "public", state: "open", inside: 0, recording: false }),
    answer(/\/meetings\?/, { data: [], total: 0, limit: 5 }),
    answer(/\/end /, { success: true, ended: 0 }),
  ]);
  const page = await fetch(`http://127.0.0.1:${port}/weekly`, { headers: { Host: `demo.localhost:${port}` } });
  expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors https://shop.example.com");
});

test("every field of a room is in the table of what enforces it, but for the webhooks, which are named together", () => {
  const text = readPage(PAGE);
  const [, table = ""] = /\| field \| enforced[^\n]*\n([\s\S]*?)\n\n/.exec(text) ?? [];
  const missing = FIELD_NAMES.filter((name) => !name.endsWith("Webhook") && !table.includes(`\`${name}\``));
  expect(missing).toEqual([]);
});

const caddy = Bun.which("caddy");

test("the Caddyfile asks at the address that the service offers", async () => {
  const file = block(PAGE, "caddyfile");
  expect(file).toContain("ask http://127.0.0.1:9090/tls/ask");
  const { port } = new URL(server.url);
  const ask = async (host: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/tls/ask?domain=${host}`)).status;
  expect([await ask("demo.localhost"), await ask("other.localhost"), await ask("elsewhere.example")]).toEqual([
    200, 404, 404,
  ]);
  if (!caddy) return;
  using folder = scratch();
  const path = join(folder.path, "Caddyfile");
  writeFileSync(path, file);
  const { err, out } = await run([caddy, "adapt", "--config", path, "--adapter", "caddyfile"], { env: {} });
  expect(out || err).toContain('"on_demand"');
});
