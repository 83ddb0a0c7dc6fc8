/** docs/without-websocket.md: its commands are pasted into two terminals, and its events compared with those that come. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { FRAME_MAX_BYTES, KIB, SILENCE_MAX_MS } from "../../src/protocol/limits.ts";
import { FORWARD_MS, HEARTBEAT_MS, POST_FRAMES_MAX, POST_MAX_BYTES } from "../../src/realtime/event-sockets/limits.ts";
import { type Server, startParley } from "../support/parley.ts";
import { found } from "../support/wait.ts";
import { blocks, readPage } from "./support/page.ts";
import { hold, paste, stay } from "./support/shell.ts";

setDefaultTimeout(60_000);

const PAGE = "docs/without-websocket.md";

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

const eventsIn = (text: string): Record<string, unknown>[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json));

test("the commands bring the events that are shown", async () => {
  const [open, welcome, send, answers] = blocks(PAGE).map(({ text }) =>
    text.replace("http://localhost:8080", server.url),
  );
  if (!open || !welcome || !send || !answers) throw new Error("a block is missing");
  const [, request = ""] = open.split("\n");
  await using reader = stay(request, { PARLEY_PUBLISHABLE_KEY: server.keys.publishableKey });
  const first = await found("the welcome", () => eventsIn(reader.output)[0]);
  expect(Object.keys(first)).toEqual(Object.keys(eventsIn(welcome)[0] ?? {}));
  expect(first.features).toEqual(eventsIn(welcome)[0]?.features);
  hold(await paste(send.replace("es_…", String(first.session)), {}), [
    { command: /^SESSION=/, holds: () => undefined },
    { command: /^curl/, holds: ({ out }) => expect(out).toBe("") },
  ]);
  const rest = await found("the roster", () => {
    const events = eventsIn(reader.output).slice(1);
    return events.at(-1)?.type === "presence" ? events : undefined;
  });
  expect(rest).toEqual(eventsIn(answers));
});

test("the numbers are those of the code", () => {
  const page = readPage(PAGE);
  for (const number of [
    `1 to ${POST_FRAMES_MAX} frames`,
    `at most ${POST_MAX_BYTES / KIB} KiB`,
    `a frame over ${FRAME_MAX_BYTES.toLocaleString("en")} bytes`,
    `one every ${HEARTBEAT_MS / 1000} seconds`,
    `after ${SILENCE_MAX_MS / 1000} seconds without a POST`,
  ])
    expect(page.replaceAll("\n", " ")).toContain(number);
  expect([FORWARD_MS, page.includes("within two seconds")]).toEqual([2000, true]);
});
