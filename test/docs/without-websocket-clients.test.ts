/** docs/without-websocket.md: its programs connect over HTTP, the one with the SDK where WebSockets are blocked, and understand each other. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { HostileProxy } from "../support/hostile-proxy.ts";
import { type Server, startParley } from "../support/parley.ts";
import type { Child } from "./support/child.ts";
import { Samples } from "./support/client-samples.ts";
import { blocks } from "./support/page.ts";

setDefaultTimeout(60_000);

const [withClient = "", withSdk = ""] = blocks("docs/without-websocket.md")
  .filter(({ language }) => language === "js")
  .map(({ text }) => text);

let server: Server;
let samples: Samples;
beforeAll(async () => {
  [server, samples] = await Promise.all([startParley(), Samples.make()]);
});
afterAll(async () => {
  samples?.remove();
  await server?.stop();
});

async function start(program: string, url: string): Promise<Child> {
  const text = program
    .replace("http://localhost:8080", url)
    .replace("ws://localhost:8080", url.replace("http", "ws"))
    .replace("pk_live_…", server.keys.publishableKey);
  const child = samples.start(`${text}\nconsole.log("ready");\n`);
  await child.writes(/^ready$/m);
  return child;
}

test.each([
  ["the SDK hears the client", withSdk, withClient],
  ["the client hears the SDK", withClient, withSdk],
])("%s, both over HTTP", async (_, first, second) => {
  await using proxy = await HostileProxy.to(Number(new URL(server.url).port), { upgrades: 403 });
  await using ann = await start(first, proxy.url);
  await using _ben = await start(second, proxy.url);
  await ann.writes(/hello$/m);
  expect([proxy.streams, proxy.upgrades]).toEqual([2, 1]);
});
