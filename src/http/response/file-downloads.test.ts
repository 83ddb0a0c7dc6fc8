import { expect, test } from "bun:test";
import { ClientPaused, FileDownloads } from "./file-downloads.ts";

const PAUSE_MAX_MS = 10;

/** Three pieces, or those before a failure. */
async function* three(failsAt = 4): AsyncGenerator<Uint8Array, undefined> {
  for (const piece of [1, 2, 3]) {
    if (piece === failsAt) throw new Error("gone");
    yield new Uint8Array([piece]);
  }
}

interface More {
  readonly check?: () => void;
  readonly until?: AbortSignal;
  readonly errors?: unknown[];
}

const of = (pieces: AsyncGenerator<Uint8Array, undefined>, more: More = {}) => ({
  pieces,
  until: more.until ?? new AbortController().signal,
  check: more.check ?? (() => undefined),
  logIncomplete: (error: unknown) => void more.errors?.push(error),
});

test("pieces are sent in order, and the place is free at the end", async () => {
  const downloads = new FileDownloads(3);
  const body = await downloads.begin(of(three()));
  expect(downloads.size).toBe(1);
  expect([...(await new Response(body).bytes())]).toEqual([1, 2, 3]);
  expect(downloads.size).toBe(0);
});

test("a failure before the first piece is a refusal, a later one cuts the body; both free the place", async () => {
  const downloads = new FileDownloads(3);
  await expect(downloads.begin(of(three(1)))).rejects.toThrow("gone");
  const errors: unknown[] = [];
  const reader = (await downloads.begin(of(three(3), { errors }))).getReader();
  expect([(await reader.read()).value, (await reader.read()).value]).toEqual([
    new Uint8Array([1]),
    new Uint8Array([2]),
  ]);
  await reader.read().then(
    () => expect.unreachable(),
    () => undefined,
  );
  expect(errors).toEqual([new Error("gone")]);
  expect(downloads.size).toBe(0);
});

test("a client that may no longer read gets no further piece", async () => {
  const downloads = new FileDownloads(3);
  let isRevoked = false;
  const check = (): void => {
    if (isRevoked) throw new Error("revoked");
  };
  const errors: unknown[] = [];
  const reader = (await downloads.begin(of(three(), { check, errors }))).getReader();
  await reader.read();
  isRevoked = true;
  await reader.read().then(
    () => expect.unreachable(),
    () => undefined,
  );
  expect([errors.length, downloads.size]).toEqual([1, 0]);
});

test("a client whose access ends is cut at once, also while it takes nothing, and its file is closed", async () => {
  const downloads = new FileDownloads(3);
  const revoking = new AbortController();
  const errors: unknown[] = [];
  const pieces = three();
  const reader = (await downloads.begin(of(pieces, { until: revoking.signal, errors }))).getReader();
  await reader.read();
  const isClosed = reader.closed.then(
    () => "to its end",
    () => "cut",
  );
  revoking.abort();
  expect(await isClosed).toBe("cut");
  expect([errors.length, downloads.size]).toEqual([1, 0]);
  expect(await pieces.next()).toEqual({ done: true, value: undefined });
});

test("a client that takes nothing for too long is cut, and its file is closed", async () => {
  const downloads = new FileDownloads(3, { pauseMaxMs: PAUSE_MAX_MS });
  const errors: unknown[] = [];
  const pieces = three();
  const reader = (await downloads.begin(of(pieces, { errors }))).getReader();
  await reader.read();
  expect(await reader.closed.then(String, () => "cut")).toBe("cut");
  expect([errors, downloads.size]).toEqual([[new ClientPaused(PAUSE_MAX_MS)], 0]);
  expect(await pieces.next()).toEqual({ done: true, value: undefined });
});

test("so is one that never takes anything", async () => {
  const downloads = new FileDownloads(3, { pauseMaxMs: PAUSE_MAX_MS });
  const reader = (await downloads.begin(of(three()))).getReader();
  expect(await reader.closed.then(String, () => "cut")).toBe("cut");
  expect(downloads.size).toBe(0);
});

test("a piece that takes long to be read is no pause of the client", async () => {
  const downloads = new FileDownloads(3, { pauseMaxMs: PAUSE_MAX_MS });
  const slow = Promise.withResolvers<void>();
  async function* pieces(): AsyncGenerator<Uint8Array, undefined> {
    yield new Uint8Array([1]);
    await slow.promise;
    yield new Uint8Array([2]);
  }
  const reader = (await downloads.begin(of(pieces()))).getReader();
  await reader.read();
  const next = reader.read();
  setTimeout(slow.resolve, 2 * PAUSE_MAX_MS);
  expect((await next).value).toEqual(new Uint8Array([2]));
  expect((await reader.read()).done).toBeTrue();
});

test("there is a limit, and a client that goes away gives its place back", async () => {
  const downloads = new FileDownloads(3);
  const open = await Promise.all(Array.from({ length: 3 }, () => downloads.begin(of(three()))));
  await expect(downloads.begin(of(three()))).rejects.toThrow("Too many files");
  await open[0]?.cancel();
  const another = await downloads.begin(of(three()));
  await Promise.all([another, ...open.slice(1)].map((body) => body.cancel()));
  expect(downloads.size).toBe(0);
});
