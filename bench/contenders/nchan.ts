/**
 * nginx with nchan, published to over WebSocket: no tokens. It answers every publish with a text of its own, so there is no
 * ack mark; and a connection publishes to the one channel of its address, so there are no direct messages.
 *
 * Observed with nchan 1.3.6, with any settings: with several messages in flight it can pause for a moment (it does not set
 * TCP_NODELAY, which may be the cause), and its worker has crashed (signal 11) while subscribers left about a megabyte unread.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { tempFolder } from "../../test/support/temp.ts";
import { debianPackages, printed } from "../lib/install.ts";
import { openFilesLimit } from "../lib/memory.ts";
import { startPinned } from "../lib/pinned.ts";
import type { Contender, Dialect } from "./contender.ts";

const MODULE = "/usr/lib/nginx/modules/ngx_nchan_module.so";
const PACKAGES = ["nginx", "libnginx-mod-nchan"];

/** One worker, because there is one core; only warnings are logged; every path is in the folder of this run. */
const config = (folder: string, port: number): string => `
${process.getuid?.() === 0 ? "user root;" : ""}
load_module ${MODULE};
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {
  worker_connections ${openFilesLimit(process.pid)};
}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path ${folder}/${one};`).join("\n  ")}
  nchan_store_messages off;
  server {
    listen 127.0.0.1:${port};
    location ~ ^/s/(.+)$ {
      nchan_subscriber websocket;
      nchan_channel_id $1;
    }
    location ~ ^/p/(.+)$ {
      nchan_publisher websocket;
      nchan_channel_id $1;
    }
  }
}
`;

/** Only the upgrade itself can be waited for: nchan sends nothing to a new subscriber. */
const dialect: Dialect = {
  subscriber: (_index, channel) => ({ path: `/s/${channel}`, steps: [] }),
  publisher: (_index, channel) => ({ path: `/p/${channel}`, steps: [] }),
  publish: (_channel, data) => ({ text: data }),
};

export const nchan: Contender = {
  name: "nginx with nchan",
  async prepare() {
    const isThere = (): boolean => Bun.which("nginx") !== null && existsSync(MODULE);
    const missing = debianPackages("nginx with nchan", PACKAGES, isThere);
    if (missing) return { missing };
    const nginx = /nginx\/([\d.]+)/.exec(printed(["nginx", "-v"]))?.[1];
    // "libnginx-mod-nchan<tab>1:1.3.6+dfsg-2"
    const module = /\t(?:\d+:)?([\d.]*\d)/.exec(printed(["dpkg-query", "--show", "libnginx-mod-nchan"]))?.[1];
    return { version: `nginx ${nginx} with nchan ${module} (Debian's packages)` };
  },
  async start() {
    const folder = tempFolder();
    const file = join(folder, "nginx.conf");
    const port = await freePort();
    await Bun.write(file, config(folder, port));
    // Master and worker. "-e": otherwise it opens its compiled-in log before it has read the file.
    const command = ["nginx", "-e", "stderr", "-p", folder, "-c", file];
    return { ...(await startPinned(command, { ready: port, processes: 2, folder })), dialect };
  },
};
