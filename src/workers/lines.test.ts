import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectLines, type Lines, serveLines } from "./lines.ts";

interface Message {
  readonly text: string;
}

async function pair() {
  const folder = mkdtempSync(join(tmpdir(), "parley-lines-"));
  const accepted = Promise.withResolvers<Lines<Message, Message>>();
  const server = serveLines<Message, Message>(join(folder, "s"), accepted.resolve);
  const received: Message[] = [];
  const closed = Promise.withResolvers<void>();
  const client = await connectLines<Message, Message>(join(folder, "s"), {
    received: (message) => received.push(message),
    closed: () => closed.resolve(),
  });
  const end = (): void => {
    server.close();
    rmSync(folder, { recursive: true });
  };
  return { client, server: await accepted.promise, received, closed: closed.promise, end };
}

test("messages arrive whole and in order, also long ones that fill the socket", async () => {
  const { client, server, end } = await pair();
  const sent = Array.from({ length: 50 }, (_, at) => ({ text: `${at} é ${"x".repeat(at * 2000)}` }));
  const received: Message[] = [];
  const all = Promise.withResolvers<void>();
  server.events = {
    received: (message) => {
      received.push(message);
      if (received.length === sent.length) all.resolve();
    },
    closed: () => undefined,
  };
  for (const message of sent) client.send(message);
  await all.promise;
  expect(received).toEqual(sent);
  end();
});

test("`end` sends what waits, and both ends close", async () => {
  const { client, server, received, closed, end } = await pair();
  for (let i = 0; i < 100; i++) server.send({ text: "x".repeat(10_000) });
  await server.end();
  await closed;
  expect(received).toHaveLength(100);
  client.send({ text: "late" });
  end();
});

test("an end that sends something else, or a line without an end, is cut off", async () => {
  for (const bytes of ["no json\n", "x".repeat(5 * 1024 * 1024)]) {
    const { server, closed, end } = await pair();
    server.take(Buffer.from(bytes));
    await closed;
    end();
  }
});
