/** The public libraries of streams in a page of another origin: what the service lets such a page send and read is what they need. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { Libraries } from "../conformance/durable-streams/libraries/libraries.ts";
import { programsOf } from "../conformance/durable-streams/libraries/page.ts";
import { mintToken } from "../support/admin.ts";
import { launchChromium } from "./support/chromium.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(120_000);

const MODEL = `
  import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const chunks = [
    { type: "text-start", id: "1" },
    ...["A channel ", "has a name."].map((delta) => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
  ];
  export const model = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });
`;
const IN_PAGE = `
  import { createDurableChatTransport } from "@durable-streams/aisdk-transport";
  import { DurableStream, IdempotentProducer, stream } from "@durable-streams/client";
  import { durableStreamConnection } from "@durable-streams/tanstack-ai-transport";
  globalThis.page = {
    async follow(url, headers, live) {
      const seen = [];
      const response = await stream({ url, headers, offset: "-1", live, json: true });
      for await (const value of response.jsonStream()) seen.push(value);
      return seen;
    },
    async write(url, headers, values) {
      const handle = new DurableStream({ url, headers, contentType: "application/json" });
      const producer = new IdempotentProducer(handle, "page", { autoClaim: true });
      for (const value of values) producer.append(JSON.stringify(value));
      await producer.flush();
      await producer.detach();
    },
    async ask(text) {
      const transport = createDurableChatTransport({ api: "/api/chat" });
      const messages = [{ id: "1", role: "user", parts: [{ type: "text", text }] }];
      let answer = "";
      for await (const { type, delta } of await transport.sendMessages({ chatId: "1", messages, trigger: "submit-message" }))
        if (type === "text-delta") answer += delta;
      return answer;
    },
    async firstChunk(readUrl) {
      for await (const chunk of durableStreamConnection({ sendUrl: "/api/chat", readUrl }).subscribe()) return chunk;
    },
  };
`;

interface InPage {
  readonly page: {
    follow(url: string, headers: object, live: string): Promise<unknown[]>;
    write(url: string, headers: object, values: readonly unknown[]): Promise<void>;
    ask(text: string): Promise<string>;
    firstChunk(readUrl: string): Promise<unknown>;
  };
}

let browser: Browser;
let service: Service;
let site: Bun.Server<undefined>;
let page: Page;

beforeAll(async () => {
  const libraries = await Libraries.installed();
  [browser, service] = await Promise.all([launchChromium(), Service.start()]);
  const channelRules = [{ pattern: "runs/**", stream: { seconds: 600, bytes: 1024 * 1024 } }];
  await service.admin.must("PATCH", "/apps/demo", { channelRules });
  const place = { url: service.url, credential: service.keys.secretKey };
  const [program = ""] = programsOf("AI SDK", place);
  const { answer } = await libraries.run<{ answer: (request: Request) => Promise<Response> }>(program, {
    "model.js": MODEL,
  });
  const script = await libraries.bundled(IN_PAGE);
  const html = (): Response =>
    new Response("<!doctype html><script type=module src=/page.js></script>", {
      headers: { "Content-Type": "text/html" },
    });
  site = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/": html,
      "/page.js": () => new Response(script, { headers: { "Content-Type": "text/javascript" } }),
      "/api/chat": { POST: answer },
    },
  });
  page = await browser.newPage();
  await page.goto(String(site.url));
  await page.waitForFunction("globalThis.page");
});

afterAll(async () => {
  await browser?.close();
  await site?.stop(true);
  await service?.stop();
});

const addressOf = (name: string): string => `${service.url}/v1/stream/runs/${name}`;
const tokenOf = (peerId: string): Promise<string> => mintToken(service.url, service.keys.secretKey, { peerId });

async function change(
  method: string,
  name: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<void> {
  const Authorization = `Bearer ${service.keys.secretKey}`;
  const more = body === undefined ? {} : { body };
  const { status } = await fetch(addressOf(name), { method, headers: { Authorization, ...headers }, ...more });
  expect(status).toBeLessThan(300);
}

test("the client writes exactly once and follows, with the token in a header or in the address", async () => {
  const values = [{ n: 1 }, { n: 2 }, { n: 3 }];
  const token = await tokenOf("ann");
  const inHeader = { Authorization: `Bearer ${token}` };
  for (const [name, headers, query] of [
    ["header", inHeader, ""],
    ["address", {}, `?token=${token}`],
  ] as const) {
    await change("PUT", name, { "Content-Type": "application/json" });
    const url = addressOf(name) + query;
    const write = ([to, sent, all]: readonly [string, object, readonly unknown[]]): Promise<void> =>
      (globalThis as unknown as InPage).page.write(to, sent, all);
    await page.evaluate(write, [url, headers, values] as const);
    await change("POST", name, { "Stream-Closed": "true" });
    for (const live of ["sse", "long-poll"]) {
      const follow = ([from, sent, mode]: readonly [string, object, string]): Promise<unknown[]> =>
        (globalThis as unknown as InPage).page.follow(from, sent, mode);
      expect(await page.evaluate(follow, [url, headers, live] as const)).toEqual(values);
    }
  }
});

test("the transport of the AI SDK reads an answer", async () => {
  const ask = (text: string): Promise<string> => (globalThis as unknown as InPage).page.ask(text);
  expect(await page.evaluate(ask, "What is a channel?")).toBe("A channel has a name.");
});

test("the connection of TanStack AI reads a chat", async () => {
  const chunk = { type: "TEXT_MESSAGE_CONTENT", messageId: "1", delta: "hello" };
  await change("PUT", "chat", { "Content-Type": "application/json" }, JSON.stringify(chunk));
  const first = (url: string): Promise<unknown> => (globalThis as unknown as InPage).page.firstChunk(url);
  expect(await page.evaluate(first, `${addressOf("chat")}?token=${await tokenOf("bob")}`)).toEqual({
    type: "MESSAGES_SNAPSHOT",
    messages: [{ id: "1", role: "assistant", parts: [{ type: "text", content: "hello" }] }],
  });
});
