/** docs/client.md: its samples compile and run, and its tables have every code and the numbers of the sources. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Parley } from "../../client/src/index.ts";
import * as closings from "../../src/protocol/close.ts";
import { CODES } from "../../src/protocol/codes.ts";
import { isFinalClose, PUT_OUT_CODE } from "../../src/protocol/final-close.ts";
import { mintToken } from "../support/admin.ts";
import { declarationOf, sourcesIn } from "../support/declarations.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Samples } from "./support/client-samples.ts";
import { BUN } from "./support/module.ts";
import { type Block, block, blocks, readPage } from "./support/page.ts";

setDefaultTimeout(60_000);

const PAGE = "docs/client.md";
const FIRST = "A first program";
const SOURCES = sourcesIn("client/src");

let server: Server;
let samples: Samples;
let bob: Parley;
beforeAll(async () => {
  [server, samples] = await Promise.all([startParley(), Samples.make()]);
  const channelRules = [{ pattern: "chat/**", history: { messages: 100, seconds: 600 } }];
  await server.admin.must("PATCH", "/apps/demo", { channelRules });
  const token = await mintToken(server.url, server.keys.secretKey, { peerId: "bob" });
  bob = new Parley({ url: server.url, token: () => token });
  const chat = bob.channel<{ text: string }>("chat/1");
  chat.presence.on("joined", () => void chat.publish({ text: "bye" }));
  await chat.subscribed;
});
afterAll(async () => {
  bob?.close();
  samples?.remove();
  await server?.stop();
});

/** With the address and the key of the test. */
const here = (text: string): string =>
  text
    .replace(/"https?:\/\/(localhost:8080|parley\.example\.com)"/, JSON.stringify(server.url))
    .replace("pk_live_…", server.keys.publishableKey);

/** The first program as it is for one runtime; it says when it is ready, so that the second one can be started. */
const first = (from: string): string =>
  `${here(block(PAGE, "js", FIRST)).replace('"parley-client"', JSON.stringify(from))}\nconsole.log("ready");\n`;

describe("the first program, started twice", () => {
  for (const [name, from, runtime] of [
    ["Bun", "parley-client", BUN],
    ["Node 20", "parley-client", ["node"]],
    ["Node 20, from parley-client/node", "parley-client/node", ["node"]],
  ] as const)
    test(`prints in one what the other publishes: ${name}`, async () => {
      await using one = samples.start(first(from), runtime);
      await one.writes(/ready/);
      await using other = samples.start(first(from), runtime);
      await other.writes(/ready/);
      await one.writes(/[\w-]+ \{\s*text: ['"]hello['"]/);
    });
});

test("the program of the package's README publishes", async () => {
  const token = await mintToken(server.url, server.keys.secretKey, { peerId: "reader" });
  const text = here(block("client/README.md", "js")).replace(
    'fetch("/token")',
    `new Response(${JSON.stringify(token)})`,
  );
  const { code, err } = await samples.run(`${text}\nparley.close();`);
  expect({ code, err }).toEqual({ code: 0, err: "" });
});

describe("samples", () => {
  const typed = (): Block[] => blocks(PAGE).filter(({ language }) => language === "ts");

  test("compile, as does that of docs/presence-and-reconnect.md; wrong ones do not", async () => {
    const all = [...typed().map(({ text }) => text), block("docs/presence-and-reconnect.md", "ts")];
    expect(all.length).toBeGreaterThan(9);
    expect(await samples.compile(all)).toBe("");
    expect(await samples.compile(["await chat.publish({ txt: 1 });"])).toContain("txt");
  });

  /** A program with the names that samples share. It ends when the sample has ended. */
  const program = (text: string): string => `
    import { shared } from "./shared.mjs";
    await shared.channel("chat/1").subscribe();
    ${text}
    parley.close();
    shared.close();
  `;

  /** What some of them must print, by a part of their text. */
  const PRINTS: readonly (readonly [string, RegExp])[] = [
    ["of chat)", /^bye\n$/],
    ["of messagesOf(chat)", /\[.*"bye".*\]/s],
  ];

  test("run without an error", async () => {
    samples.file(
      `import { Parley } from "parley-client";
       export const shared = new Parley({ url: ${JSON.stringify(server.url)}, key: ${JSON.stringify(server.keys.publishableKey)} });
       globalThis.parley = shared;
       globalThis.chat = shared.channel("chat/1");`,
      "shared.mjs",
    );
    const socketUrl = server.url.replace("http", "ws");
    const plain = typed().filter(({ text, heading }) => heading !== "Connect" && !text.includes("of feed)"));
    for (const { text, heading } of plain) {
      const { code, out, err } = await samples.run(program(here(text)));
      expect([heading, code, err]).toEqual([heading, 0, ""]);
      for (const [part, form] of PRINTS) if (text.includes(part)) expect(out).toMatch(form);
      if (text.includes("debug:"))
        expect(out).toStartWith(block(PAGE, "", heading).replace("ws://localhost:8080", socketUrl));
    }
  });

  test("a gap shows beside a loop", async () => {
    const text = typed().find((one) => one.text.includes("of feed)"))?.text ?? "";
    const { url, keys } = server;
    const { code, out, err } = await samples.run(`
      import { Parley, ParleyError } from "parley-client";
      const [parley, other] = [0, 1].map(() => new Parley(${JSON.stringify({ url, key: keys.publishableKey })}));
      let times = 0;
      let published;
      const off = parley.channel("feed").on("subscribed", () => {
        if (++times === 1) return parley.restart(new ParleyError("connection_lost", "the network is cut"));
        off();
        published = other.channel("feed").publish({ text: "bye" });
      });
      ${text}
      await published;
      for (const one of [parley, other]) one.close();
    `);
    expect({ code, out, err }).toEqual({ code: 0, out: "Messages are missing: no_history\nbye\n", err: "" });
  });

  test("the token function gets tokens from the backend's function", async () => {
    const { code, out, err } = await samples.run(
      `${here(block(PAGE, "ts", "Connect")).replace('"/api/token"', "backend.url")}
       ${block(PAGE, "js", "Connect")}
       const backend = Bun.serve({ port: 0, fetch: async () => new Response(await tokenFor({ id: "carol", name: "Carol" })) });
       parley.on("welcome", async ({ peerId }) => {
         console.log(peerId);
         parley.close();
         await backend.stop(true);
       });`,
      { PARLEY_URL: server.url, PARLEY_KEY: server.keys.secretKey },
    );
    expect({ code, out, err }).toEqual({ code: 0, out: "carol\n", err: "" });
  });
});

describe("its tables", () => {
  const page = readPage(PAGE);
  const section = (heading: string): string => page.split(`# ${heading}\n`)[1]?.split(/\n#+ /)[0] ?? "";
  const firstCells = (text: string): string[] => [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, code = ""]) => code);

  test("have every code of the client once", () => {
    const codes = [...declarationOf("ClientCode", SOURCES).matchAll(/"(\w+)"/g)].map(([, code = ""]) => code);
    expect(codes.length).toBeGreaterThan(10);
    expect(firstCells(section("Codes of the client")).sort()).toEqual(codes.sort());
  });

  test("have every code of the service once, in the table or among those that never come", () => {
    const text = section("Codes of the service");
    const others = [...(text.split("never reach this client:")[1] ?? "").matchAll(/`(\w+)`/g)].map(
      ([, one = ""]) => one,
    );
    const codes = Object.keys(CODES).filter((code) => !["crash", "body_too_large"].includes(code));
    expect([...firstCells(text), ...others].sort()).toEqual(codes.sort());
  });

  test("have every close code, and what the client does", () => {
    const codes = new Set([PUT_OUT_CODE, ...Object.values(closings).map(({ code }) => code)]);
    for (const code of codes) {
      const row = section("Reconnects")
        .split("\n")
        .find((line) => new RegExp(`^\\|[^|]*\\b${code}\\b`).test(line));
      expect([code, row?.includes("is closed")]).toEqual([code, isFinalClose(code)]);
    }
  });

  test("and text have the numbers of the sources", () => {
    const wrong = NUMBERS.filter(
      ([name, value, stated]) =>
        !declarationOf(name, SOURCES).includes(`const ${name} = ${value};`) || !page.includes(stated),
    );
    expect(wrong).toEqual([]);
  });
});

/** A constant of the client, its value, and the text of the page that repeats it. */
const NUMBERS: readonly (readonly [string, string, string])[] = [
  ["RETRY_MIN_MS", "500", "random between 0 and 0.5 s"],
  ["RETRY_MAX_MS", "20_000", "up to 20 s"],
  ["STABLE_MS", "2000", "lasted two seconds"],
  ["CONNECT_WITHIN_MS", "15_000", "until the welcome | 15 s"],
  ["PING_AFTER_MS", "25_000", "After 25 s of silence"],
  ["PONG_WITHIN_MS", "10_000", "without an answer within 10 s"],
  ["PONG_AFTER_WAKE_MS", "4000", "answer within 4 s"],
  ["RENEW_BEFORE_MS", "60_000", "a minute before the token expires"],
  ["TOKEN_WITHIN_MS", "30_000", "the token function | 30 s"],
  ["LEFT_MIN_MS", "5000", "less than 5 s left"],
  ["RETRY_AFTER_MAX_MS", "3_600_000", "up to an hour"],
  ["ANSWER_WITHIN_MS", "15_000", "an answer of the service | 15 s"],
  ["PENDING_MAX", "1000", "calls waiting for their answers | 1,000"],
  ["WAITING_MAX", "1000", "messages waiting for a loop | 1,000"],
  ["IDS_MAX", "1000", "the newest 1,000 per channel"],
  ["IDS_MAX", "1000", "the newest 1,000, for two minutes"],
  ["REPEATED_WITHIN_MS", "120_000", "the newest 1,000, for two minutes"],
  ["MESSAGES_MAX", "1000", "messages waiting in the queue | 1,000"],
  ["PER_SECOND", "80", "80 messages per second"],
  ["BURST", "250", "a burst of 250"],
  ["SHORT_MS", "10_000", "three WebSockets in a row are cut within\n  10 seconds"],
  ["SHORT_MAX", "3", "three WebSockets in a row"],
  ["BLOCKED_MS", "600_000", "For ten minutes, all clients"],
  ["ADDRESSES_MAX", "100", "are blocked | 100, each for ten minutes"],
  ["TRY_AFTER_MIN_MS", "240_000", "a WebSocket every five minutes"],
  ["TRY_AFTER_MORE_MS", "120_000", "a WebSocket every five minutes"],
  ["BATCH_MAX_FRAMES", "64", "frames per request | 64"],
  ["AGAIN_WITHIN_MS", "60_000", "repeated for at most 60 s"],
  ["SILENCE_MAX_MS", "40_000", "silence of the service | 40 s"],
];
