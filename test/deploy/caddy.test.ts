/** The Caddy example: parsed by Caddy itself, and used in front of a real node. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REQUEST_HEAD_MAX_BYTES } from "../../src/protocol/limits.ts";
import { freePort } from "../../src/testing/ports.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { changed, PROJECT, read } from "./support/files.ts";
import { Running, run } from "./support/program.ts";
import { proxySuite } from "./support/proxy.ts";

const caddy = Bun.which("caddy");
if (!caddy) console.log("caddy is not here: its example is only read (apt-get install caddy)");

const example = read("deploy/caddy/Caddyfile");

/** Caddy's own files stay in this folder. */
const home = (folder: string): Record<string, string> => ({
  HOME: folder,
  XDG_DATA_HOME: join(folder, "data"),
  XDG_CONFIG_HOME: join(folder, "config"),
});

/** With an existing certificate instead of one that Caddy would request. */
function placed(folder: string, port: number, nodes: readonly number[]): string {
  const [first, second, third] = nodes.map((one) => `127.0.0.1:${one}`) as [string, string, string];
  const tls = ["one.crt", "one.key"].map((name) => join(PROJECT, "test/fixtures/tls", name)).join(" ");
  const file = join(folder, "Caddyfile");
  writeFileSync(
    file,
    changed(
      example,
      [/^\{$/m, "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust"],
      [/^realtime\.example\.com \{$/m, `https://127.0.0.1:${port} {\n\tbind 127.0.0.1\n\ttls ${tls}`],
      ["/var/log/caddy/parley.log", `${folder}/access.log`],
      ["10.0.0.11:8080", first],
      ["10.0.0.12:8080", second],
      ["10.0.0.13:8080", third],
    ),
  );
  return file;
}

describe("the Caddy example", () => {
  test("accepts the request heads that Parley allows, and logs no query", () => {
    expect(/max_header_size (\d+)KiB/.exec(example)?.[1]).toBe(String(REQUEST_HEAD_MAX_BYTES / 1024));
    expect([...example.matchAll(/request>uri regexp \[\?\]\.\* ""/g)]).toHaveLength(2);
  });

  test.skipIf(!caddy)("is valid for Caddy, and has Caddy's format", async () => {
    using folder = scratch();
    const check = (text: string) => {
      const file = join(folder.path, "Caddyfile");
      writeFileSync(file, text);
      return run([caddy ?? "", "adapt", "--config", file, "--adapter", "caddyfile"], home(folder.path));
    };
    expect(await check(example)).toEqual({ code: 0, output: expect.stringContaining('"handler":"reverse_proxy"') });
    expect((await check(changed(example, ["health_uri", "helth_uri"]))).code).not.toBe(0);
    const formatted = await run([caddy ?? "", "fmt", join(PROJECT, "deploy/caddy/Caddyfile")], home(folder.path));
    expect(formatted.output).toBe(example);
  });
});

if (caddy)
  proxySuite("Caddy", async (nodes) => {
    const folder = tempFolder();
    const port = await freePort();
    const file = placed(folder, port, nodes);
    const running = new Running([caddy, "run", "--config", file, "--adapter", "caddyfile"], home(folder));
    await until("Caddy", async () => {
      if (running.hasEnded) throw new Error(`caddy ended: ${running.output}`);
      return fetch(`https://127.0.0.1:${port}/healthz`, { tls: { rejectUnauthorized: false } }).then(
        () => true,
        () => false,
      );
    });
    const access = join(folder, "access.log");
    return {
      url: `https://127.0.0.1:${port}`,
      logged: () => running.output + (existsSync(access) ? readFileSync(access, "utf8") : ""),
      stop: async () => {
        await running.stop();
        removeFolder(folder);
      },
    };
  });
