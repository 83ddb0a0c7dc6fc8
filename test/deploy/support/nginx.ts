/** The nginx examples, started as they are: only addresses, paths and sizes are those of a test. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../src/testing/ports.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import { changed, PROJECT, read } from "./files.ts";
import { Running } from "./program.ts";
import { addressesOf, answers, type RunningProxy } from "./proxy.ts";

export const nginx = Bun.which("nginx") ?? (existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : undefined);

/** The three files in a separate folder, otherwise unchanged. */
export function place(folder: string, main: string): string {
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

export const common = (folder: string): readonly (readonly [string | RegExp, string])[] => [
  ["worker_processes auto", "worker_processes 2"],
  [/^worker_rlimit_nofile 1048576;$/m, ""],
  ["worker_connections 65536", "worker_connections 512"],
  [/^events/m, `daemon off;\n${process.getuid?.() === 0 ? "user root;" : ""}\nevents`],
  [/^error_log \S+ emerg;$/m, `error_log ${folder}/error.log emerg;`],
];

export function withTls(path: string, folder: string, port: number, nodes: readonly number[]): string {
  return changed(
    read(path),
    ...common(folder),
    ["/run/nginx.pid", `${folder}/pid`],
    ["/var/log/nginx/parley.log", `${folder}/access.log`],
    ["/etc/nginx/tls/fullchain.pem", join(PROJECT, "test/fixtures/tls/one.crt")],
    ["/etc/nginx/tls/privkey.pem", join(PROJECT, "test/fixtures/tls/one.key")],
    ["listen 443 ", `listen 127.0.0.1:${port} `],
    ...addressesOf(nodes, (address) => `    server ${address} max_fails=0;\n`),
  );
}

export async function startNginx(path: string, nodes: readonly number[]): Promise<RunningProxy> {
  const port = await freePort();
  return start(`https://127.0.0.1:${port}`, (folder) => withTls(path, folder, port, nodes));
}

/** As it is often found: `proxy_pass` and nothing else, so that it passes no WebSockets on, and collects responses. */
export async function startPlainNginx(node: number): Promise<RunningProxy> {
  const port = await freePort();
  return start(
    `http://127.0.0.1:${port}`,
    (folder) => `daemon off;
${process.getuid?.() === 0 ? "user root;" : ""}
pid ${folder}/pid;
error_log ${folder}/error.log emerg;
events {}
http {
  access_log ${folder}/access.log;
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://127.0.0.1:${node}; }
  }
}
`,
  );
}

async function start(url: string, main: (folder: string) => string): Promise<RunningProxy> {
  const folder = tempFolder();
  const running = new Running([nginx ?? "nginx", "-c", place(folder, main(folder))]);
  await until(`nginx: ${running.output}`, async () => {
    if (running.hasEnded) throw new Error(`nginx ended: ${running.output}`);
    return answers(url);
  });
  return {
    url,
    logged: () =>
      running.output +
      readFileSync(join(folder, "access.log"), "utf8") +
      readFileSync(join(folder, "error.log"), "utf8"),
    stop: async () => {
      await running.stop();
      removeFolder(folder);
    },
  };
}
