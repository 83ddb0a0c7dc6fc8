/** The public client, unmodified: reads, follows, resumes, forks, and writes exactly once, also behind a proxy that refuses or cuts. */

import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  createFetchWithBackoff,
  DurableStream,
  IdempotentProducer,
  StaleEpochError,
  stream,
} from "@durable-streams/client";
import { NetworkProxy } from "../../support/network-proxy.ts";
import { until, within } from "../../support/wait.ts";
import { fresh, worldForTests } from "../raw/support/world.ts";
import { withStreams } from "./support.ts";

setDefaultTimeout(60_000);

const MODES = [true, "long-poll", "sse"] as const;

const world = await worldForTests({ env: { PARLEY_STREAM_POLL_SECONDS: "2" } });
await withStreams(world);
const headers = { Authorization: `Bearer ${world.key.credential}` };

/** Passes requests on, but for those that it answers itself with this status. */
let refusing: 503 | 429 | undefined;
const front = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 60,
  fetch: async (request) => {
    if (refusing) return new Response("not now", { status: refusing, headers: { "Retry-After": "1" } });
    const { pathname, search } = new URL(request.url);
    const { method, signal } = request;
    const body = method === "GET" ? undefined : await request.arrayBuffer();
    return fetch(world.url + pathname + search, { method, headers: request.headers, signal, ...(body && { body }) });
  },
});
const link = await NetworkProxy.to(Number(new URL(world.url).port));
afterAll(async () => {
  await front.stop(true);
  await link.close();
});

const addressOf = (name: string, origin = world.url): string => `${new URL(origin).origin}/v1/stream/${name}`;
const create = (contentType = "application/json", name = fresh("client")): Promise<DurableStream> =>
  DurableStream.create({ url: addressOf(name), headers, contentType });
const nameOf = ({ url }: DurableStream): string => url.slice(addressOf("").length);
const numbers = (from: number, to: number): { n: number }[] =>
  Array.from({ length: to - from }, (_, at) => ({ n: from + at }));

/** What a reader has seen so far. */
async function follow(options: Parameters<typeof stream>[0]): Promise<{ seen: unknown[]; ended: Promise<void> }> {
  const seen: unknown[] = [];
  const response = await stream({ json: true, ...options });
  response.subscribeJson(async ({ items }) => void seen.push(...items));
  return { seen, ended: response.closed };
}

/** The client ends with the connection: who follows begins again at the last offset. */
async function followOverLosses(
  options: Parameters<typeof stream>[0],
  take: (items: readonly unknown[]) => void,
): Promise<void> {
  let at = "-1";
  for (;;) {
    const response = await stream({ json: true, ...options, offset: at });
    response.subscribeJson(async ({ items, offset }) => {
      take(items);
      at = offset;
    });
    const isOver = await response.closed.then(
      () => true,
      () => false,
    );
    if (isOver) return;
  }
}

test("it reads to the end, continues from an offset, and follows in each mode until the stream is closed", async () => {
  const run = await create();
  for (const value of numbers(0, 5)) await run.append(JSON.stringify(value));
  const url = run.url;
  const first = await stream({ url, headers, offset: "-1", live: false });
  expect(await first.json()).toEqual(numbers(0, 5));
  const followers = await Promise.all([
    ...MODES.map((live) => follow({ url, headers, offset: "-1", live })),
    // With a token in the address, and from where the first one ended.
    ...MODES.map((live) => follow({ url: `${url}?token=${world.token()}`, offset: first.offset, live })),
  ]);
  for (const value of numbers(5, 50)) void run.append(JSON.stringify(value));
  await run.append(JSON.stringify({ n: 50 }));
  await run.close();
  await within("the readers of a closed stream end", Promise.all(followers.map(({ ended }) => ended)));
  const whole = numbers(0, 51);
  expect(followers.map(({ seen }) => seen)).toEqual([whole, whole, whole, ...Array(3).fill(whole.slice(5))]);
  const reread = await stream({ url, headers, offset: "-1" });
  expect([await reread.json(), reread.streamClosed]).toEqual([whole, true]);
});

test("text and bytes arrive as they were written, in each mode", async () => {
  const written = "a line\nönë more\r\n\n: and ‘that’";
  const [text, bytes] = await Promise.all([create("text/plain"), create("application/octet-stream")]);
  // More than one response carries.
  const all = new Uint8Array(randomBytes(600_000));
  await text.append(written);
  await bytes.append(all);
  await Promise.all([text.close(), bytes.close()]);
  for (const live of MODES) {
    const read = await (await stream({ url: text.url, headers, offset: "-1", live })).text();
    // Server-Sent Events have no CR.
    expect(read.replaceAll("\r", "")).toBe(written.replaceAll("\r", ""));
    const got = await (await stream({ url: bytes.url, headers, offset: "-1", live })).body();
    expect(Bun.hash(got)).toBe(Bun.hash(all));
  }
});

test("a fork has what its source had, and each goes on by itself", async () => {
  const source = await create();
  for (const value of numbers(0, 3)) await source.append(JSON.stringify(value));
  const head = await source.head();
  const offset = head.exists ? (head.offset ?? "") : "";
  await source.append('"only the source"');
  const fork = { "Stream-Forked-From": new URL(source.url).pathname, "Stream-Fork-Offset": offset };
  const { url } = await DurableStream.create({ url: addressOf(fresh("fork")), headers: { ...headers, ...fork } });
  const own = await DurableStream.connect({ url, headers });
  await own.append('"only the fork"');
  expect(await (await own.stream({ live: false })).json()).toEqual([...numbers(0, 3), "only the fork"]);
  // An offset of the source is one of the fork.
  expect(await (await own.stream({ offset, live: false })).json()).toEqual(["only the fork"]);
  expect(await (await source.stream({ offset, live: false })).json()).toEqual(["only the source"]);
});

test("a producer with a token writes exactly once, and one that takes over fences it", async () => {
  const run = await create();
  const url = `${run.url}?token=${world.token()}`;
  const handle = new DurableStream({ url, contentType: "application/json" });
  const first = new IdempotentProducer(handle, "writer", { autoClaim: true });
  for (const value of numbers(0, 200)) first.append(JSON.stringify(value));
  await first.flush();
  const second = new IdempotentProducer(handle, "writer", { epoch: 1 });
  second.append('"taken over"');
  await second.flush();
  const errors: Error[] = [];
  const stale = new IdempotentProducer(handle, "writer", { epoch: 0, onError: (error) => void errors.push(error) });
  stale.append('"too late"');
  await stale.flush();
  expect(errors.map((error) => error instanceof StaleEpochError)).toEqual([true]);
  expect(await (await run.stream({ live: false })).json()).toEqual([...numbers(0, 200), "taken over"]);
  await Promise.all([first, second].map((one) => one.detach()));
});

test("readers and producers behind a proxy that refuses for a while lose nothing and write nothing twice", async () => {
  const run = await create();
  const url = addressOf(nameOf(run), String(front.url));
  const followers = await Promise.all(MODES.map((live) => follow({ url, headers, offset: "-1", live })));
  // By itself it drops what is refused.
  const retrying = { autoClaim: true, fetch: createFetchWithBackoff(fetch) };
  const handle = new DurableStream({ url, headers, contentType: "application/json" });
  const producer = new IdempotentProducer(handle, "p", retrying);
  for (const value of numbers(0, 20)) producer.append(JSON.stringify(value));
  await producer.flush();
  for (const status of [503, 429] as const) {
    refusing = status;
    const from = status === 503 ? 20 : 40;
    for (const value of numbers(from, from + 20)) producer.append(JSON.stringify(value));
    const flushed = producer.flush();
    // Its readers come back when their polls end.
    await run.append(JSON.stringify({ status }));
    refusing = undefined;
    await within("the producer goes on", flushed);
  }
  await run.close();
  await within("the readers end", Promise.all(followers.map(({ ended }) => ended)));
  const stored = await (await run.stream({ live: false })).json<{ n?: number }>();
  expect(followers.map(({ seen }) => seen)).toEqual([stored, stored, stored]);
  expect(stored.filter(({ n }) => n !== undefined)).toEqual(numbers(0, 60));
  expect(stored).toHaveLength(62);
});

test("a reader whose network is cut goes on where it was", async () => {
  const run = await create();
  const url = addressOf(nameOf(run), `http://127.0.0.1:${link.port}`);
  const seen = MODES.map((): unknown[] => []);
  const ends = MODES.map((live, at) => followOverLosses({ url, headers, live }, (items) => seen[at]?.push(...items)));
  await run.append('"before"');
  await until("they read", () => seen.every(({ length }) => length === 1));
  link.cut();
  await run.append('"meanwhile"');
  link.mend();
  await run.append('"after"');
  await run.close();
  await within("the readers end", Promise.all(ends));
  expect(seen).toEqual(Array(3).fill(["before", "meanwhile", "after"]));
});
