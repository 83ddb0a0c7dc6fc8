import { expect, test } from "bun:test";
import { FileStreams } from "./file-streams.ts";
import { FILE_STREAMS_MAX } from "./limits.ts";

/** Three pieces, or those before a failure. */
async function* three(failsAt = 4): AsyncGenerator<Uint8Array, undefined> {
  for (const piece of [1, 2, 3]) {
    if (piece === failsAt) throw new Error("gone");
    yield new Uint8Array([piece]);
  }
}

const of = (pieces: AsyncGenerator<Uint8Array, undefined>, more: { check?: () => void; errors?: unknown[] } = {}) => ({
  pieces,
  check: more.check ?? (() => undefined),
  logIncomplete: (error: unknown) => void more.errors?.push(error),
});

test("pieces are sent in order, and the place is free at the end", async () => {
  const streams = new FileStreams();
  const body = await streams.begin(of(three()));
  expect(streams.size).toBe(1);
  expect([...(await new Response(body).bytes())]).toEqual([1, 2, 3]);
  expect(streams.size).toBe(0);
});

test("a failure before the first piece is a refusal, a later one cuts the body; both free the place", async () => {
  const streams = new FileStreams();
  await expect(streams.begin(of(three(1)))).rejects.toThrow("gone");
  const errors: unknown[] = [];
  const reader = (await streams.begin(of(three(3), { errors }))).getReader();
  expect([(await reader.read()).value, (await reader.read()).value]).toEqual([
    new Uint8Array([1]),
    new Uint8Array([2]),
  ]);
  await reader.read().then(
    () => expect.unreachable(),
    () => undefined,
  );
  expect(errors).toEqual([new Error("gone")]);
  expect(streams.size).toBe(0);
});

test("a client that may no longer read gets no further piece", async () => {
  const streams = new FileStreams();
  let isRevoked = false;
  const check = (): void => {
    if (isRevoked) throw new Error("revoked");
  };
  const errors: unknown[] = [];
  const reader = (await streams.begin(of(three(), { check, errors }))).getReader();
  await reader.read();
  isRevoked = true;
  await reader.read().then(
    () => expect.unreachable(),
    () => undefined,
  );
  expect([errors.length, streams.size]).toEqual([1, 0]);
});

test("there is a limit, and a client that goes away gives its place back", async () => {
  const streams = new FileStreams();
  const open = await Promise.all(Array.from({ length: FILE_STREAMS_MAX }, () => streams.begin(of(three()))));
  await expect(streams.begin(of(three()))).rejects.toThrow("Too many files");
  await open[0]?.cancel();
  const another = await streams.begin(of(three()));
  await Promise.all([another, ...open.slice(1)].map((body) => body.cancel()));
  expect(streams.size).toBe(0);
});
