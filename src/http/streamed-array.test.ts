import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Server } from "bun";
import { streamedArray } from "./streamed-array.ts";

const PAGE = 3;
let server: Server<undefined>;
let total = 0;
let failAt = Number.POSITIVE_INFINITY;
let read = 0;
let isAllowed = () => true;
const cuts: string[] = [];

async function* pages(): AsyncGenerator<object[], undefined> {
  for (read = 0; ; ) {
    if (read >= failAt) throw new Error("the store is away");
    const page = Array.from({ length: Math.min(PAGE, total - read) }, (_, i) => ({ n: read + i }));
    read += page.length;
    yield page;
    if (page.length < PAGE) return;
  }
}

beforeAll(() => {
  const check = (): void => {
    if (!isAllowed()) throw new Error("not any more");
  };
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const around = request.url.endsWith("/around") ? { before: '{"list":', after: "}" } : undefined;
      const cut = (error: unknown): void => void cuts.push((error as Error).message);
      return streamedArray({
        pages: pages(),
        write: JSON.stringify,
        pageSize: PAGE,
        check,
        cut,
        ...(around && { around }),
      });
    },
  });
});
afterAll(() => server.stop(true));

const ask = async (path = ""): Promise<unknown> => (await fetch(`${server.url}${path}`)).json();
const upTo = (count: number): object[] => Array.from({ length: count }, (_, n) => ({ n }));

test.each([0, 1, 2, 3, 4, 6, 7, 300, 301])("%d items are one array, whole and in order", async (count) => {
  total = count;
  expect(await ask()).toEqual(upTo(count));
  expect(await ask("around")).toEqual({ list: upTo(count) });
});

test("a page that cannot be read cuts the connection, and its reason is told once", async () => {
  total = 300;
  failAt = 150;
  await expect(ask()).rejects.toThrow();
  expect(cuts.splice(0)).toEqual(["the store is away"]);
  failAt = Number.POSITIVE_INFINITY;
});

test("and so does a reader who may not read any more", async () => {
  total = 300;
  isAllowed = () => read < 100;
  await expect(ask()).rejects.toThrow();
  expect(cuts.splice(0)).toEqual(["not any more"]);
  isAllowed = () => true;
});
