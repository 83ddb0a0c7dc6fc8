/** Snippets carry the real names as text of their language, whatever others have put into them. */
import { expect, test } from "bun:test";
import type { Key } from "../../api/types.ts";
import { LANGUAGES, snippet } from "./snippets.ts";

const ORIGIN = "https://realtime.example.com";

const keyOf = (given: Partial<Key>): Key => ({
  keyId: "pk_live_1",
  app: "1",
  type: "publishable",
  label: null,
  channelPatterns: ["chat/*"],
  actions: ["publish", "subscribe"],
  allowedOrigins: ["https://shop.example.com"],
  turn: false,
  created: 0,
  rotated: null,
  revoked: null,
  ...given,
});

test("every language names the host and the key, and never more than the beginning of a secret", () => {
  for (const type of ["publishable", "secret"] as const)
    for (const [language] of LANGUAGES) {
      const text = snippet(keyOf({ type, keyId: "id_of_the_key" }), ORIGIN, language);
      expect(text).toContain("realtime.example.com");
      expect(text).toContain("id_of_the_key");
      expect(text.replaceAll("sk_secret_…", "")).not.toContain("secret_");
    }
});

test("our own client comes first, in pages as in backends", () => {
  expect(LANGUAGES[0]).toEqual(["client", "parley-client"]);
  for (const type of ["publishable", "secret"] as const)
    expect(snippet(keyOf({ type }), ORIGIN, "client")).toContain('import { Parley } from "parley-client";');
});

test("browsers use WebSocket addresses, and only what the key may do", () => {
  const own = snippet(keyOf({ actions: ["subscribe"] }), ORIGIN, "client");
  expect(own).toContain('url: "https://realtime.example.com", key: "pk_live_1"');
  expect(own).toContain("await channel.subscribed;");
  expect(own).not.toContain("publish(");
  expect(snippet(keyOf({ actions: ["presence"] }), ORIGIN, "client")).toContain("parley.connect();");
  const text = snippet(keyOf({ actions: ["subscribe"] }), ORIGIN, "js");
  expect(text).toContain('url: "wss://realtime.example.com"');
  expect(text).toContain('await client.subscribe("chat/42");');
  expect(text).not.toContain("publish(");
});

test("what happens if it runs twice is said as it is, and only where the key may do it", () => {
  for (const language of ["client", "js", "python"] as const) {
    const both = "the first one prints what the second one publishes.";
    expect(snippet(keyOf({}), ORIGIN, language)).toContain(both);
    for (const actions of [["publish"], ["subscribe"]])
      expect(snippet(keyOf({ actions }), ORIGIN, language)).not.toMatch(/twice|two terminals/);
  }
});

test("names with quotes stay inside their string", () => {
  const channelPatterns = [`a'b"c\${x}/*`];
  expect(snippet(keyOf({ channelPatterns }), ORIGIN, "js")).toContain(`subscribe("a'b\\"c\${x}/42")`);
  const shell = snippet(keyOf({ type: "secret", channelPatterns }), ORIGIN, "curl");
  expect(shell).toContain(`'{"peerId":"alice","channels":["a'\\''b\\"c\${x}/42"]}'`);
  expect(shell).toContain(`/v1/channels/a'\\''b%22c%24%7Bx%7D%2F42/publish`);
});
