import { expect, test } from "bun:test";
import { LANGUAGES, snippet } from "./snippets.ts";

const parts = {
  app: "shop",
  channel: "answers/a b/it's",
  contentType: "application/json",
  isClosed: false,
  origin: "https://realtime.example.com",
};

test("addresses keep the slashes of the name, and nothing in a name is read by the shell", () => {
  const curl = snippet(parts, "curl");
  expect(curl).toContain(`'https://realtime.example.com/v1/stream/answers/a%20b/it'\\''s?offset=-1&live=sse'`);
  expect(snippet(parts, "parley")).toContain(`parley streams show 'answers/a b/it'\\''s' --app shop`);
  expect(snippet(parts, "eventsource")).toContain(
    `"https://realtime.example.com/v1/stream/answers/a%20b/it's?offset=-1&live=sse&token="`,
  );
});

test("what is written has the stream's own content type", () => {
  expect(snippet(parts, "curl")).toContain(`-H 'Content-Type: application/json' --data-binary '{"text":"hello"}'`);
  const text = snippet({ ...parts, contentType: "text/plain; charset=utf-8" }, "curl");
  expect(text).toContain("-H 'Content-Type: text/plain; charset=utf-8' --data-binary 'hello'");
  expect(snippet({ ...parts, contentType: "image/png" }, "curl")).toContain("--data-binary @FILE");
});

test("a closed stream is only read", () => {
  expect(snippet({ ...parts, isClosed: true }, "curl")).not.toContain("--data-binary");
});

test("a page parses the data of JSON only, and no snippet has a secret", () => {
  expect(snippet(parts, "eventsource")).toContain("JSON.parse(data)");
  expect(snippet({ ...parts, contentType: "text/plain" }, "eventsource")).not.toContain("JSON.parse");
  for (const [language] of LANGUAGES) expect(snippet(parts, language)).not.toMatch(/sk_secret_\w/);
});
