/** docs/moving-from-hosted.md: the changes it lists are sufficient, and what it says is the same or different is true. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { MeteredPeer, SignallingClient, WsCloseCode } from "@metered-ca/realtime";
import * as closings from "../../src/protocol/close.ts";
import { mint, mintToken } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { welcomed } from "../support/wire/connect.ts";
import { runModule } from "./support/module.ts";
import { block, readPage } from "./support/page.ts";
import { hold, paste } from "./support/shell.ts";

const PAGE = "docs/moving-from-hosted.md";

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

test("with the page's options the SDK connects and publishes", async () => {
  const snippet = block(PAGE, "js", "1. The SDK's `url`")
    .replace("ws://localhost:8080", server.url.replace("http", "ws"))
    .replace('"/token", { method: "POST" }', "tokenAddress, tokenRequest");
  const program = `
    import { SignallingClient } from "@metered-ca/realtime";
    const tokenAddress = "${server.url}/v1/tokens";
    const headers = { Authorization: "Bearer ${server.keys.secretKey}" };
    const tokenRequest = { method: "POST", headers, body: '{"peerId":"moved"}' };
    ${snippet}
    client.on("connected", ({ peerId }) => console.log(peerId));
    await client.connect();
    await client.subscribe("chat/1");
    await client.publish("chat/1", { text: "moved" });
    await client.close();
  `;
  const { code, out, err } = await runModule(program);
  expect({ code, out, err }).toEqual({ code: 0, out: "moved\n", err: "" });
});

test("the SDK accepts only an origin, and requires TLS except for this machine", () => {
  const options = (url: string) => ({ url, apiKey: "pk_live_x" });
  for (const Client of [SignallingClient, MeteredPeer]) {
    expect(() => new Client(options("ws://realtime.example.com"))).toThrow();
    expect(() => new Client(options("wss://realtime.example.com/path"))).toThrow();
    for (const url of ["wss://realtime.example.com", "ws://localhost:8080", "ws://127.0.0.1:8080"])
      expect(new Client(options(url))).toBeDefined();
  }
});

test("the page's commands make an application and keys of the same form; patterns cover what it says", async () => {
  const outcomes = await paste(block(PAGE, "sh"), { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: server.adminToken });
  hold(outcomes, [
    { command: /apps create/, holds: ({ out }) => expect(out).toContain("acme") },
    { command: /publishable/, holds: ({ out }) => expect(out).toMatch(/^key +pk_live_/m) },
    { command: /secret/, holds: ({ out }) => expect(out).toMatch(/^secret +sk_secret_/m) },
  ]);
  const out = outcomes[2]?.out ?? "";
  const credential = `${/^key +(\S+)/m.exec(out)?.[1]}:${/^secret +(\S+)/m.exec(out)?.[1]}`;
  const channels = async (...names: string[]) =>
    (await mint(server.url, credential, { peerId: "a", channels: names })).status;
  expect(await channels("chat/1")).toBe(200);
  expect(await channels("chat/1/typing")).toBe(403);
  const wide = await server.admin.createKey("acme", { channelPatterns: ["chat/**"] });
  expect((await mint(server.url, wide.credential, { peerId: "a", channels: ["chat/1", "chat/1/typing"] })).status).toBe(
    200,
  );
});

test("ICE servers in a token's metadata reach the SDK", async () => {
  const iceServers = [{ urls: ["turn:turn.example.com"], username: "u", credential: "c" }];
  const token = await mintToken(server.url, server.keys.secretKey, { peerId: "caller", metadata: { iceServers } });
  const client = new SignallingClient({ url: server.url.replace("http", "ws"), tokenProvider: async () => token });
  const connected = new Promise<unknown>((resolve) => client.on("connected", (event) => resolve(event.iceServers)));
  await client.connect();
  expect(await connected).toEqual(iceServers);
  await client.close();
});

test("the close codes it lists are those of the sources; the SDK knows them", () => {
  const page = readPage(PAGE);
  const sent = new Set([1009, ...Object.values(closings).map((one) => one.code)]);
  const known: number[] = Object.values(WsCloseCode);
  for (const code of sent) {
    expect(page).toContain(String(code));
    // The SDK has no name for 1011. The suite "faults" tests that it reconnects.
    if (code !== 1011) expect(known).toContain(code);
  }
  const never = known.filter((code) => !sent.has(code) && code !== 4000);
  expect(never).toEqual([1008, 4003, 4012]);
  for (const code of never) expect(page).toContain(String(code));
});

test("data is delivered byte for byte; a refused connect says why; rooms and recordings exist", async () => {
  using listener = await welcomed(server.url, `key=${server.keys.publishableKey}`);
  await listener.join("bytes");
  const data = '{"z":12345678901234567890,"a":1.50}';
  await call(`${server.url}/v1/channels/bytes/publish`, { bearer: server.keys.secretKey, body: `{"data":${data}}` });
  await listener.until("message");
  expect(listener.texts.at(-1)).toContain(`"data":${data}`);

  expect((await call(`${server.url}/v1?key=pk_live_none`)).body).toMatchObject({ error: "unauthorized" });
  for (const path of ["/api/v1/rooms", "/api/v1/recordings"]) {
    const address = `${server.url}${path}?secretKey=${server.keys.appSecret}`;
    expect((await call(address, { headers: { Host: "demo.localhost" } })).status).toBe(200);
  }
});
