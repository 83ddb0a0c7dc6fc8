/** docs/sdk-to-client.md: the two programs do the same and understand each other, and its tables have every call and event of the SDK. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { MeteredPeer, SignallingClient } from "@metered-ca/realtime";
import { mintToken } from "../support/admin.ts";
import { type Server, startParley } from "../support/parley.ts";
import type { Child } from "./support/child.ts";
import { Samples } from "./support/client-samples.ts";
import { blocks, readPage } from "./support/page.ts";

setDefaultTimeout(60_000);

const PAGE = "docs/sdk-to-client.md";
const [withSdk = "", withClient = ""] = blocks(PAGE)
  .filter(({ language }) => language === "js")
  .map(({ text }) => text);

let server: Server;
let samples: Samples;
beforeAll(async () => {
  [server, samples] = await Promise.all([startParley(), Samples.make()]);
});
afterAll(async () => {
  samples?.remove();
  await server?.stop();
});

/** A program of the page as a user of this name. It says when it is ready. */
async function start(program: string, peerId: string): Promise<Child> {
  const token = await mintToken(server.url, server.keys.secretKey, { peerId });
  const text = program
    .replace("ws://localhost:8080", server.url.replace("http", "ws"))
    .replace('fetch("/token", { method: "POST" })', `new Response('{"token":${JSON.stringify(token)}}')`);
  expect(text).not.toContain("/token");
  const child = samples.start(`${text}\nconsole.log("ready");\n`);
  await child.writes(/^ready$/m);
  return child;
}

describe("the two programs", () => {
  for (const [name, first, second] of [
    ["the SDK hears the client", withSdk, withClient],
    ["the client hears the SDK", withClient, withSdk],
  ] as const)
    test(name, async () => {
      await using ann = await start(first, "ann");
      await using _ben = await start(second, "ben");
      await ann.writes(/ben joined chat\/1[\s\S]*ben hello|ben hello[\s\S]*ben joined chat\/1/);
    });
});

describe("its tables", () => {
  const page = readPage(PAGE);
  const section = (heading: string): string => page.split(`\n## ${heading}`)[1]?.split("\n## ")[0] ?? "";
  const methodsOf = (type: { readonly prototype: object }): string[] =>
    Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor");
  const types = readPage("node_modules/@metered-ca/realtime/dist/index.d.ts");
  /** The events of an interface of the SDK, and the options of another. */
  const fieldsOf = (name: string): string[] => {
    const body = types.split(`interface ${name} {\n`)[1]?.split("\n}")[0] ?? "";
    return [...body.matchAll(/^ {4}"?([\w-]+)"?\??:/gm)].map(([, field = ""]) => field);
  };
  const missing = (text: string, names: readonly string[]): string[] =>
    names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));

  test("have every call, event and option of SignallingClient", () => {
    const names = [
      ...methodsOf(SignallingClient),
      ...fieldsOf("SignallingClientEventMap"),
      ...fieldsOf("SignallingClientOptions"),
    ];
    expect(names.length).toBeGreaterThan(25);
    expect(missing(section("SignallingClient, call by call"), names)).toEqual([]);
  });

  test("name every event of MeteredPeer, and its calls for messages", () => {
    const calls = ["join", "send", "sendTo", "remotePeers", "peerId", "close", "addStream", "addTrack", "replaceTrack"];
    expect(missing(methodsOf(MeteredPeer).join(" "), calls)).toEqual([]);
    expect(missing(section("MeteredPeer"), [...calls, ...fieldsOf("MeteredPeerEventMap")])).toEqual([]);
  });
});
