/** A page with nothing but an EventSource, behind a proxy that ends every connection: it gets each message once, in order. */
import { expect } from "bun:test";
import type { Browser } from "playwright-core";
import type { Admin } from "../../support/admin.ts";
import { HostileProxy } from "../../support/hostile-proxy.ts";
import { selfSigned } from "../../support/jwt.ts";
import { startParley } from "../../support/parley.ts";
import { until } from "../../support/wait.ts";
import { Site } from "./site.ts";

const CUT_AFTER_MS = 1500;
/** Browsers wait for 3 to 5 seconds before they connect again. */
const CONNECTIONS = 4;
const TAKES_MAX_MS = 60_000;
const RULES = [{ pattern: "runs/**", stream: { seconds: 600, bytes: 1024 * 1024 } }];
const JSON_TYPE = { "Content-Type": "application/json" };

type InPage = { readonly heard: number[]; opened: number; isAtEnd: boolean };
/** As pages have it; the types of tests are those of programs. */
type Source = EventTarget & { close(): void };
type Heard = Event & { readonly data: string };

async function keyOf(admin: Admin) {
  const { _id } = await admin.createApp();
  await admin.must("PATCH", `/apps/${_id}`, { channelRules: RULES });
  return admin.createKey(_id);
}

export async function followsThroughCuts(browser: Browser): Promise<void> {
  await using server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
  const key = await keyOf(server.admin);
  await using proxy = await HostileProxy.to(Number(new URL(server.url).port), { cutAfterMs: CUT_AFTER_MS });
  const token = selfSigned(key.keyId, key.secret, { sub: "page", permissions: ["subscribe"] });
  const send = async (method: string, headers: Record<string, string>, body?: string): Promise<void> => {
    const Authorization = `Bearer ${key.credential}`;
    const url = `${server.url}/v1/stream/runs/1`;
    const { ok, status } = await fetch(url, { method, headers: { Authorization, ...headers }, ...(body && { body }) });
    if (!ok) throw new Error(`${method}: ${status}`);
  };
  await send("PUT", JSON_TYPE);
  const site = new Site();
  const page = await browser.newPage();
  // A page of another origin: the token admits it.
  await page.goto(`${site.origin}/`);
  await page.evaluate(
    (url) => {
      const here = globalThis as unknown as InPage & { EventSource: new (url: string) => Source };
      Object.assign(here, { heard: [], opened: 0, isAtEnd: false });
      const source = new here.EventSource(url);
      source.addEventListener("open", () => here.opened++);
      source.addEventListener("data", (event) => here.heard.push(...JSON.parse((event as Heard).data)));
      source.addEventListener("control", (event) => {
        if (!JSON.parse((event as Heard).data).streamClosed) return;
        source.close();
        here.isAtEnd = true;
      });
    },
    `${proxy.url}/v1/stream/runs/1?offset=-1&live=sse&token=${encodeURIComponent(token)}`,
  );
  const opened = (): Promise<number> => page.evaluate(() => (globalThis as unknown as InPage).opened);
  let sent = 0;
  const write = async (): Promise<boolean> => {
    await send("POST", JSON_TYPE, JSON.stringify([++sent, ++sent]));
    return (await opened()) >= CONNECTIONS;
  };
  await until("it has connected again and again", write, TAKES_MAX_MS);
  await send("POST", { "Stream-Closed": "true" });
  const isClosed = (): Promise<boolean> => page.evaluate(() => (globalThis as unknown as InPage).isAtEnd);
  await until("it is at the end", isClosed);
  const heard = await page.evaluate(() => (globalThis as unknown as InPage).heard);
  expect(heard).toEqual(Array.from({ length: sent }, (_, at) => at + 1));
  expect(proxy.ended).toBeGreaterThanOrEqual(CONNECTIONS - 1);
  await page.close();
  await site.stop();
}
