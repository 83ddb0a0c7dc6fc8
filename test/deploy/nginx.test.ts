/** The nginx examples: parsed by nginx itself, and those with TLS used in front of a real node. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Parley } from "../../client/src/index.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { PING_EVERY_MS, REQUEST_HEAD_MAX_BYTES, SILENCE_MAX_MS } from "../../src/protocol/limits.ts";
import { freePort } from "../../src/testing/ports.ts";
import { startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { changed, read } from "./support/files.ts";
import { common, nginx, place, startNginx, startPlainNginx, withTls } from "./support/nginx.ts";
import { run } from "./support/program.ts";
import { proxySuite } from "./support/proxy.ts";

setDefaultTimeout(60_000);

if (!nginx) console.log("nginx is not here: its examples are only read (apt-get install nginx)");

/** Those that serve TLS. */
const WITH_TLS = ["deploy/nginx/nginx.conf", "deploy/nginx/placement.conf"] as const;

describe("the nginx examples", () => {
  const http = read("deploy/nginx/parley-http.conf");
  const proxy = read("deploy/nginx/parley-proxy.conf");
  const value = (text: string, name: string): string => new RegExp(`^ *${name} (.*);$`, "m").exec(text)?.[1] ?? "";

  test("allow the request heads, bodies and idle times that Parley allows", () => {
    expect(value(http, "large_client_header_buffers")).toBe(`4 ${REQUEST_HEAD_MAX_BYTES / 1024}k`);
    const megabytes = Number(/^(\d+)m$/.exec(value(proxy, "client_max_body_size"))?.[1]);
    expect(megabytes * 1024 ** 2).toBeGreaterThan(SETTINGS.maxRecordingBytes.initial);
    for (const name of ["proxy_read_timeout", "proxy_send_timeout"])
      expect(Number.parseInt(value(proxy, name), 10) * 1000).toBeGreaterThan(
        Math.max(2 * PING_EVERY_MS, SILENCE_MAX_MS),
      );
    expect(value(proxy, "proxy_request_buffering")).toBe("off");
  });

  test("log no query", () => {
    const format = /^log_format[\s\S]*?;$/m.exec(http)?.[0] ?? "";
    expect(format).toContain("$uri");
    expect(format).not.toMatch(/\$(request|request_uri|args|query_string|http_referer|is_args|arg_\w+|http_\w+)\b/);
    for (const path of [...WITH_TLS, "deploy/compose/nginx.conf"]) {
      expect(read(path)).toMatch(/^ {2}access_log \S+ parley;$/m);
      expect([...read(path).matchAll(/error_log/g)].length).toBe(
        [...read(path).matchAll(/^error_log \S+ emerg;$/gm)].length,
      );
    }
  });

  test.skipIf(!nginx)("are valid for nginx", async () => {
    const port = await freePort();
    const plain = (folder: string): string =>
      changed(
        read("deploy/compose/nginx.conf"),
        ...common(folder),
        // Names of containers, which only compose can resolve.
        ...["parley-1", "parley-2", "parley-3"].map((name) => [`${name}:8080`, "127.0.0.1:1"] as const),
        ["listen 8080 ", `listen 127.0.0.1:${port} `],
        ["/dev/stdout", `${folder}/access.log`],
        [/^events/m, `pid ${folder}/pid;\nevents`],
      );
    const served = WITH_TLS.map((path) => (folder: string) => withTls(path, folder, port, [1, 2, 3]));
    for (const main of [plain, ...served]) {
      using folder = scratch();
      const check = (text: string) => run([nginx ?? "", "-t", "-q", "-c", place(folder.path, text)]);
      expect(await check(main(folder.path))).toEqual({ code: 0, output: "" });
      const wrong = changed(main(folder.path), ["zone parley 64k", "zone parley"]);
      expect((await check(wrong)).code).not.toBe(0);
    }
  });
});

describe.skipIf(!nginx)("a nginx that passes no WebSockets on", () => {
  test("parley-client connects over HTTP, and messages pass both ways at once", async () => {
    const node = await startParley();
    const proxy = await startPlainNginx(Number(new URL(node.url).port));
    const key = node.keys.publishableKey;
    const clients = [new Parley({ url: proxy.url, key }), new Parley({ url: node.url, key })] as const;
    try {
      const heard = clients.map((client) => {
        const messages: unknown[] = [];
        client.channel("chat/1").on("message", ({ data }) => messages.push(data));
        return messages;
      });
      await Promise.all(clients.map((client) => client.channel("chat/1").subscribed));
      expect(clients.map(({ status }) => status.transport)).toEqual(["http", "websocket"]);
      for (const [at, client] of clients.entries())
        for (let number = 0; number < 20; number++) await client.channel("chat/1").publish([at, number]);
      await until("all have come", () => heard.every(({ length }) => length === 20));
      expect(heard).toEqual([1, 0].map((from) => Array.from({ length: 20 }, (_, number) => [from, number])));
    } finally {
      for (const client of clients) client.close();
      await proxy.stop();
      await node.stop();
    }
  });
});

if (nginx) {
  proxySuite("nginx", (nodes) => startNginx("deploy/nginx/nginx.conf", nodes));
  // Behind the same settings.
  if (IS_FULL) proxySuite("nginx with placement", (nodes) => startNginx("deploy/nginx/placement.conf", nodes));
}
