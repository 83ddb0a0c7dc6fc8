/** The Caddy examples: parsed by Caddy itself, and used in front of a real node. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { REQUEST_HEAD_MAX_BYTES } from "../../src/protocol/limits.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { caddy, home, startCaddy } from "./support/caddy.ts";
import { changed, PROJECT, read } from "./support/files.ts";
import { run } from "./support/program.ts";
import { proxySuite } from "./support/proxy.ts";

if (!caddy) console.log("caddy is not here: its examples are only read (apt-get install caddy)");

describe.each(["deploy/caddy/Caddyfile", "deploy/caddy/placement.Caddyfile"])("the Caddy example %s", (path) => {
  const example = read(path);

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
    const formatted = await run([caddy ?? "", "fmt", join(PROJECT, path)], home(folder.path));
    expect(formatted.output).toBe(example);
  });
});

if (caddy) {
  proxySuite("Caddy", (nodes) => startCaddy("deploy/caddy/Caddyfile", nodes));
  // Behind the same settings.
  if (IS_FULL) proxySuite("Caddy with placement", (nodes) => startCaddy("deploy/caddy/placement.Caddyfile", nodes));
}
