/** The Caddy examples, started as they are: only addresses and paths are those of a test. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../src/testing/ports.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import { changed, PROJECT, read } from "./files.ts";
import { Running } from "./program.ts";
import { addressesOf, answers, type RunningProxy } from "./proxy.ts";

export const caddy = Bun.which("caddy") ?? undefined;

/** Caddy's own files stay in this folder. */
export const home = (folder: string): Record<string, string> => ({
  HOME: folder,
  XDG_DATA_HOME: join(folder, "data"),
  XDG_CONFIG_HOME: join(folder, "config"),
});

/** With an existing certificate instead of one that Caddy would request. */
function placed(path: string, folder: string, port: number, nodes: readonly number[]): string {
  const example = read(path);
  const tls = ["one.crt", "one.key"].map((name) => join(PROJECT, "test/fixtures/tls", name)).join(" ");
  const [, names = ""] = /^(realtime\.example\.com.*) \{$/m.exec(example) ?? [];
  // The address is for tests that name no host.
  const sites = [...names.split(", "), "127.0.0.1"].map((name) => `https://${name}:${port}`).join(", ");
  const file = join(folder, "Caddyfile");
  writeFileSync(
    file,
    changed(
      example,
      [/^\{$/m, "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust"],
      [`${names} {`, `${sites} {\n\tbind 127.0.0.1\n\ttls ${tls}`],
      ["/var/log/caddy/parley.log", `${folder}/access.log`],
      ...addressesOf(nodes, (address) => ` ${address}`),
    ),
  );
  return file;
}

export async function startCaddy(path: string, nodes: readonly number[]): Promise<RunningProxy> {
  const folder = tempFolder();
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const file = placed(path, folder, port, nodes);
  const running = new Running([caddy ?? "caddy", "run", "--config", file, "--adapter", "caddyfile"], home(folder));
  await until("Caddy", async () => {
    if (running.hasEnded) throw new Error(`caddy ended: ${running.output}`);
    return answers(url);
  });
  const access = join(folder, "access.log");
  return {
    url,
    logged: () => running.output + (existsSync(access) ? readFileSync(access, "utf8") : ""),
    stop: async () => {
      await running.stop();
      removeFolder(folder);
    },
  };
}
