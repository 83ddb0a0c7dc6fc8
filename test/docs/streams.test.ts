/** docs/streams.md: its programs are run as they are printed. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mintToken } from "../support/admin.ts";
import { type Server, startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { run } from "./support/child.ts";
import { runModule } from "./support/module.ts";
import { block, blocks } from "./support/page.ts";

const PAGE = "docs/streams.md";
const FOLLOWING = "Follow a stream";

let server: Server;
const folder = tempFolder();
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
  await server.admin.must("PATCH", "/apps/demo", JSON.parse(block(PAGE, "json", "Rules")));
});
afterAll(async () => {
  await server.stop();
  removeFolder(folder);
});

const address = (channel = "runs/1"): string => `${server.url}/v1/stream/${channel}`;
const credential = (): Record<string, string> => ({ Authorization: `Bearer ${server.keys.secretKey}` });

/** A stream of JSON with one value, which is closed. */
async function closed(channel: string): Promise<string> {
  const headers = { ...credential(), "Content-Type": "application/json" };
  await fetch(address(channel), { method: "PUT", headers, body: '{"step":1}' });
  await fetch(address(channel), { method: "POST", headers: { ...headers, "Stream-Closed": "true" } });
  return address(channel);
}

async function shell(script: string): Promise<string> {
  const here = script
    .replaceAll("http://localhost:8080", server.url)
    .replaceAll("data/first-run.txt", `${server.data}/first-run.txt`);
  const env = { PARLEY_KEY: server.keys.secretKey, RUN: address() };
  const { code, out, err } = await run(["sh", "-ec", here], { env });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

test("with curl: create, append, read, close, follow, delete", async () => {
  const out = await shell(block(PAGE, "sh", "With curl"));
  expect(out).toMatch(/^(\[\{"step":1\},\{"step":2\}\])event: data\ndata:\1\nid: \S+\n\nevent: control\n/);
  expect(out).toContain('"streamClosed":true');
  expect((await fetch(address(), { headers: credential() })).status).toBe(404);
});

test("what is written three times is stored once, and a fork has it", async () => {
  expect(await shell(block(PAGE, "sh", "Write exactly once"))).toBe("200\n204\n204\n");
  expect(await shell(block(PAGE, "sh", "Forks"))).toBe("written once");
});

describe("following", () => {
  const [longPoll = "", events = "", client = ""] = blocks(PAGE)
    .filter(({ language, heading }) => language === "js" && heading === FOLLOWING)
    .map(({ text }) => text);

  test("with fetch", async () => {
    const url = await closed("runs/fetch");
    const token = await mintToken(server.url, server.keys.secretKey, { peerId: "ann" });
    const print = `for await (const one of follow(${JSON.stringify([url, token]).slice(1, -1)})) console.log(JSON.stringify(one));`;
    expect(await runModule(longPoll + print)).toEqual({ code: 0, out: '{"step":1}\n', err: "" });
  });

  test("with EventSource", async () => {
    const url = await closed("runs/events");
    const token = await mintToken(server.url, server.keys.secretKey, { peerId: "ann" });
    // An EventSource for one answer.
    const program = `
      class EventSource extends EventTarget {
        constructor(url) {
          super();
          this.done = this.read(url);
        }
        async read(url) {
          for (const text of (await (await fetch(url)).text()).split("\\n\\n").slice(0, -1)) {
            const of = (name) => text.split("\\n").find((line) => line.startsWith(name + ":"))?.slice(name.length + 1).trim();
            this.dispatchEvent(Object.assign(new Event(of("event")), { data: of("data") }));
          }
        }
        close() { console.log("closed"); }
      }
      const [url, token] = ${JSON.stringify([url, token])};
      const show = (values) => console.log(JSON.stringify(values));
      ${events}`;
    expect(await runModule(program)).toEqual({ code: 0, out: '[{"step":1}]\nclosed\n', err: "" });
  });

  test("with the public client", async () => {
    const env = { PARLEY_KEY: server.keys.secretKey, RUN: await closed("runs/client") };
    expect(await runModule(client, env)).toEqual({ code: 0, out: '[{"step":1}]\n', err: "" });
  });

  test.skipIf(!Bun.which("python3"))("with Python", async () => {
    const url = address("runs/python");
    const headers = { ...credential(), "Content-Type": "application/json" };
    await fetch(url, { method: "PUT", headers });
    const path = join(folder, "follow.py");
    writeFileSync(path, block(PAGE, "python", FOLLOWING));
    const ran = run(["python3", path], { env: { PARLEY_KEY: server.keys.secretKey, RUN: url } });
    expect(await (await fetch(`${url}?offset=-1&live=long-poll`, { headers: credential() })).json()).toHaveLength(1);
    await fetch(url, { method: "POST", headers: { ...headers, "Stream-Closed": "true" } });
    expect(await ran).toEqual({ code: 0, out: '{"from": "Python"}\n', err: "" });
  });
});
