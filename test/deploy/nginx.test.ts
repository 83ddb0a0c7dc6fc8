/** The nginx examples: parsed by nginx itself, and the one with TLS used in front of a real node. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS } from "../../src/config/settings.ts";
import { PING_EVERY_MS, REQUEST_HEAD_MAX_BYTES, SILENCE_MAX_MS } from "../../src/protocol/limits.ts";
import { freePort } from "../../src/testing/ports.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { changed, PROJECT, read } from "./support/files.ts";
import { Running, run } from "./support/program.ts";
import { proxySuite } from "./support/proxy.ts";

const nginx = Bun.which("nginx") ?? ((await Bun.file("/usr/sbin/nginx").exists()) ? "/usr/sbin/nginx" : undefined);
if (!nginx) console.log("nginx is not here: its examples are only read (apt-get install nginx)");

/** The three files in a separate folder, otherwise unchanged. */
function place(folder: string, main: string): string {
  for (const name of ["parley-http.conf", "parley-proxy.conf"])
    writeFileSync(join(folder, name), read(`deploy/nginx/${name}`));
  const file = join(folder, "nginx.conf");
  // What nginx writes besides logs stays in the folder too.
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  writeFileSync(
    file,
    main.replaceAll("/etc/nginx/parley-", `${folder}/parley-`).replace("http {", `http {\n${temporary.join("\n")}`),
  );
  return file;
}

const common = (folder: string): readonly (readonly [string | RegExp, string])[] => [
  ["worker_processes auto", "worker_processes 2"],
  [/^worker_rlimit_nofile 1048576;$/m, ""],
  ["worker_connections 65536", "worker_connections 512"],
  [/^events/m, `daemon off;\n${process.getuid?.() === 0 ? "user root;" : ""}\nevents`],
  [/^error_log \S+ emerg;$/m, `error_log ${folder}/error.log emerg;`],
];

function withTls(folder: string, port: number, nodes: readonly number[]): string {
  const [first, second, third] = nodes.map((one) => `127.0.0.1:${one}`) as [string, string, string];
  return changed(
    read("deploy/nginx/nginx.conf"),
    ...common(folder),
    ["/run/nginx.pid", `${folder}/pid`],
    ["/var/log/nginx/parley.log", `${folder}/access.log`],
    ["/etc/nginx/tls/fullchain.pem", join(PROJECT, "test/fixtures/tls/one.crt")],
    ["/etc/nginx/tls/privkey.pem", join(PROJECT, "test/fixtures/tls/one.key")],
    ["listen 443 ", `listen 127.0.0.1:${port} `],
    ["10.0.0.11:8080", first],
    ["10.0.0.12:8080", second],
    ["10.0.0.13:8080", third],
  );
}

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
    for (const path of ["deploy/nginx/nginx.conf", "deploy/compose/nginx.conf"]) {
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
    for (const main of [plain, (folder: string) => withTls(folder, port, [1, 2, 3])]) {
      using folder = scratch();
      const check = (text: string) => run([nginx ?? "", "-t", "-q", "-c", place(folder.path, text)]);
      expect(await check(main(folder.path))).toEqual({ code: 0, output: "" });
      const wrong = changed(main(folder.path), ["zone parley 64k", "zone parley"]);
      expect((await check(wrong)).code).not.toBe(0);
    }
  });
});

if (nginx)
  proxySuite("nginx", async (nodes) => {
    const folder = tempFolder();
    const port = await freePort();
    const running = new Running([nginx, "-c", place(folder, withTls(folder, port, nodes))]);
    await until(`nginx: ${running.output}`, async () => {
      if (running.hasEnded) throw new Error(`nginx ended: ${running.output}`);
      return fetch(`https://127.0.0.1:${port}/healthz`, { tls: { rejectUnauthorized: false } }).then(
        () => true,
        () => false,
      );
    });
    return {
      url: `https://127.0.0.1:${port}`,
      logged: () =>
        running.output +
        readFileSync(join(folder, "access.log"), "utf8") +
        readFileSync(join(folder, "error.log"), "utf8"),
      stop: async () => {
        await running.stop();
        removeFolder(folder);
      },
    };
  });
