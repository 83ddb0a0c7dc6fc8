/** Mistakes in the options of a client: they are errors at once, before anything is sent. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Parley, type ParleyOptions } from "../parley.ts";
import { settled } from "../testing/clock.ts";
import { Kit } from "../testing/kit.ts";

let kit: Kit;
beforeEach(() => {
  kit = new Kit();
});
afterEach(() => kit.restore());

const made = (options: object) => (): Parley =>
  new Parley({ WebSocket: kit.service.WebSocket, ...options } as ParleyOptions);

describe("url", () => {
  test.each([
    "localhost:8080",
    "parley.example.com",
    "127.0.0.1:8080",
    "//parley.example.com",
    "/parley",
    "",
    " ",
    "http:",
    "http://",
    "http:///v1",
    "https:parley.example.com",
    "http:localhost:8080",
    "ftp://parley.example.com",
    "file:///etc",
    "https://parley.example.com?key=pk_demo",
    "https://parley.example.com#chat",
    "https://parley example.com",
    "http://localhost:99999",
    " https://parley.example.com",
    undefined,
    null,
    8080,
  ])("%p is refused by the constructor, which shows the right form", (url) => {
    for (const more of [{}, { autoConnect: false }]) {
      const make = made({ url, key: "pk_demo", ...more });
      expect(make).toThrow(TypeError);
      expect(make).toThrow('such as "https://parley.example.com" or "http://localhost:8080"');
    }
  });

  test("that is a secret key by mistake does not appear in the message", () => {
    expect(made({ url: "sk_id_1:sk_secret_2", key: "pk_demo" })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("sk_") }),
    );
  });

  test.each([
    ["http://localhost:8080", "ws://localhost:8080/v1?key=pk"],
    ["HTTPS://Parley.Example.com/", "wss://Parley.Example.com/v1?key=pk"],
    ["ws://[::1]:8080", "ws://[::1]:8080/v1?key=pk"],
    ["wss://example.com/parley//", "wss://example.com/parley/v1?key=pk"],
  ])("%s is accepted", async (url, address) => {
    const parley = kit.client({ url });
    await settled();
    expect(new URL(kit.service.socket.url).href).toBe(new URL(address).href);
    parley.close();
  });
});

describe("key", () => {
  test.each([
    "sk_id_abc:sk_secret_def",
    "sk_id_abc",
    "sk_secret_def",
    "sk_live_abc",
    " sk_id_abc:sk_secret_def\n",
    "id:sk_secret_def",
  ])("a secret key, %p, is refused before anything is sent, and is not in the message", async (key) => {
    const make = made({ url: "https://service", key });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/secret key.*backend.*publishable key.*`token`/s);
    expect(make).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/abc|def/) }));
    await settled();
    expect([kit.service.sockets, kit.service.asked]).toEqual([[], []]);
  });

  test.each(["", 7, null])("%p is refused", (key) => {
    expect(made({ url: "https://service", key })).toThrow("parley: ");
  });

  test.each(["pk_live_…", "pk_live_...", "pk_live_ab…"])("%p, left in from an example, is refused", (key) => {
    expect(made({ url: "https://service", key })).toThrow(/^parley: `key` is shortened/);
  });

  test("one that the service refuses is named in the error, and so is a token", async () => {
    kit.service.refuses(401, "unauthorized");
    for (const [credential, name] of [
      [{}, "key"],
      [{ token: () => "a?key=b" }, "token"],
    ] as const) {
      const parley = kit.client(credential);
      await settled();
      await kit.service.socket.end();
      expect(parley.status.error?.message).toStartWith(`The service refused \`${name}\`: `);
      parley.close();
    }
  });

  test("a secret key that the token function returns is not sent either", async () => {
    const parley = kit.client({ token: () => "sk_id_abc:sk_secret_def" });
    await settled();
    expect([kit.service.sockets, kit.service.asked]).toEqual([[], []]);
    expect(kit.errors).toEqual(["token_failed"]);
    expect(String(parley.status.error?.cause)).toMatch(/secret key/);
    expect(`${parley.status.error} ${parley.status.error?.cause}`).not.toMatch(/abc|def/);
    parley.close();
  });
});

test("no options at all, and both credentials or none, are errors that say what to give", () => {
  expect(() => new (Parley as unknown as new () => Parley)()).toThrow("parley: ");
  for (const wrong of [{}, { key: "pk", token: () => "t" }, { token: "a token" }])
    expect(made({ url: "https://service", ...wrong })).toThrow(/parley: .*`token`/);
});
