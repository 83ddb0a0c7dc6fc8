/** Streams over HTTP behind nginx, with the example of deploy/ and as it is often found: what is written arrives once, in order and at once. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { StreamLoad, type StreamLoadOptions, streamApp } from "../support/streams/load.ts";
import { SOON_MS, within } from "../support/wait.ts";
import { nginx, startNginx, startPlainNginx } from "./support/nginx.ts";
import type { RunningProxy } from "./support/proxy.ts";

setDefaultTimeout(300_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_500);
const SIZE: Omit<StreamLoadOptions, "seed"> = IS_FULL
  ? { streams: 2, producers: 3, plain: 2, readers: 2 }
  : { streams: 1, producers: 1, plain: 1, readers: 1 };
const ENV = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_DEMO: "off" };
const JSON_TYPE = { "Content-Type": "application/json" };

const portOf = ({ url }: Server): number => Number(new URL(url).port);
const PROXIES: Readonly<Record<string, (node: Server) => Promise<RunningProxy>>> = {
  "the example of deploy": (node) => startNginx("deploy/nginx/nginx.conf", [portOf(node)]),
  "nginx with proxy_pass and nothing else": (node) => startPlainNginx(portOf(node)),
};

describe.skipIf(!nginx)("streams over HTTP through", () => {
  for (const [name, start] of Object.entries(PROXIES))
    test(name, async () => {
      await using node = await startParley({ env: ENV });
      const proxy = await start(node);
      try {
        const app = await streamApp(node.admin, () => [proxy.url]);
        const { http } = app;
        await http.ask("runs/first", { method: "PUT", headers: JSON_TYPE });
        const over = new AbortController();
        const live = await http.open("runs/first", { query: { offset: "-1", live: "sse" }, signal: over.signal });
        const poll = http.ask("runs/first", { query: { offset: "-1", live: "long-poll" } });
        const reader = live.body?.getReader();
        await reader?.read();
        await http.ask("runs/first", { method: "POST", headers: JSON_TYPE, body: Buffer.from('"at once"') });
        // An event that nginx collects would come with the next ones only.
        const { value } = (await within("the event is passed on", reader?.read() ?? Promise.reject(), SOON_MS)) ?? {};
        expect(Buffer.from(value ?? []).toString()).toContain('data:["at once"]');
        expect(Buffer.from((await poll).bytes).toString()).toBe('["at once"]');
        over.abort();
        await using load = await StreamLoad.on(app, { seed: SEED, ...SIZE, kinds: "over HTTP" });
        await load.flowing();
        await load.settle(name);
        expect(proxy.logged()).not.toContain(app.key.secret);
      } finally {
        await proxy.stop();
      }
    });
});
