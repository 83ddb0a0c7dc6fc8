import { expect, test } from "bun:test";
import { EVENT_HEARTBEAT_MS } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { EventStream } from "./event-stream.ts";

function scene(method = "GET") {
  const timers: (() => void)[] = [];
  const idle: string[] = [];
  const control = new AbortController();
  let ended = 0;
  const call = {
    request: new Request("http://127.0.0.1/", { method }),
    suspendIdleTimeout: () => idle.push("off"),
    restoreIdleTimeout: () => idle.push("on"),
  } as unknown as Call;
  const clock = {
    after: (ms: number, callback: () => void): void => {
      expect(ms).toBe(EVENT_HEARTBEAT_MS);
      timers.push(callback);
    },
  };
  const stream = new EventStream();
  const respond = (): Response => stream.respond({ call, clock, until: control.signal, ended: () => ended++ });
  const beat = (): void => {
    for (const fire of timers.splice(0)) fire();
  };
  return { stream, respond, control, timers, idle, beat, ended: () => ended };
}

const readerOf = ({ body }: Response) => {
  const reader = (body ?? new ReadableStream()).getReader();
  return { next: async (): Promise<unknown> => (await reader.read()).value, cancel: () => reader.cancel() };
};

test("is ready when what was written before has been taken", async () => {
  const { stream, respond } = scene();
  const { next } = readerOf(respond());
  expect(stream.isReady).toBe(false);
  expect(await next()).toBe("retry: 2000\n\n");
  expect(stream.isReady).toBe(true);
  stream.send(["{}", "1"]);
  expect(stream.isReady).toBe(false);
  expect(await next()).toBe("data: {}\n\ndata: 1\n\n");
});

test("ends when the operator's access ends, and frees everything once", async () => {
  const { stream, respond, control, idle, ended, beat, timers } = scene();
  const { next } = readerOf(respond());
  await next();
  expect(idle).toEqual(["off"]);
  control.abort();
  expect(await next()).toBeUndefined();
  stream.end();
  stream.send(["late"]);
  stream.comment("late");
  beat();
  expect([ended(), idle, timers.length, stream.isReady]).toEqual([1, ["off", "on"], 0, false]);
});

test("ends at once if the access had ended before it began", async () => {
  const { respond, control, ended } = scene();
  control.abort();
  const { next } = readerOf(respond());
  expect(await next()).toBe("retry: 2000\n\n");
  expect(await next()).toBeUndefined();
  expect(ended()).toBe(1);
});

test("ends when the client goes away", async () => {
  const { respond, ended } = scene();
  await readerOf(respond()).cancel();
  expect(ended()).toBe(1);
});

test("has no body for HEAD, and holds nothing", () => {
  const { respond, ended, timers } = scene("HEAD");
  expect(respond().body).toBeNull();
  expect([ended(), timers.length]).toEqual([1, 0]);
});

test("has heartbeats, and is cut if its client takes nothing between two of them", async () => {
  const { respond, beat, ended, stream } = scene();
  const { next } = readerOf(respond());
  await next();
  for (let i = 0; i < 5; i++) {
    beat();
    expect(await next()).toBe(": heartbeat\n\n");
  }
  stream.send(["1"]);
  beat();
  expect(ended()).toBe(0);
  beat();
  expect(ended()).toBe(1);
});

test("a client that is slow but reads is not cut", async () => {
  const { respond, beat, ended, stream } = scene();
  const { next } = readerOf(respond());
  await next();
  for (let i = 0; i < 5; i++) {
    stream.send(["1"]);
    beat();
    await next();
    stream.send(["2"]);
    beat();
    await next();
  }
  expect(ended()).toBe(0);
});
