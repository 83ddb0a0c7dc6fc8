import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { Vault } from "../keys/vault.ts";
import { EventSessionNames } from "./event-session.ts";

const names = new EventSessionNames(new Vault(randomBytes(32)));
const NODE = "7c0e9f2a-1d7b-4f0e-9f51-0c7f3a5f1b22";

describe("the name of a connection over HTTP", () => {
  test("says which node and which connection", () => {
    const text = names.make(NODE, 123_456);
    expect(names.read(text)).toEqual({ text, node: NODE, number: 123_456 });
    expect(text).toMatch(/^es_[\w-]+\.[0-9a-z]+\.[\w-]{22}\.[\w-]{43}$/);
  });

  test("is another one each time", () => {
    const made = new Set(Array.from({ length: 100 }, () => names.make(NODE, 1)));
    expect(made.size).toBe(100);
  });

  test("is not valid with another node, number, random part or signature", () => {
    const text = names.make(NODE, 1);
    const other = names.make(NODE, 2).split(".");
    const parts = text.split(".");
    for (const [at, part] of [...other.entries(), [0, `es_${crypto.randomUUID()}`] as const].filter(
      ([index, part]) => part !== parts[index],
    ))
      expect(names.read(parts.with(at, part).join("."))).toBeUndefined();
  });

  test("is not valid with one bit of any character changed", () => {
    const text = names.make(NODE, 77);
    for (let at = 0; at < text.length; at++) {
      const changed = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
      expect(names.read(changed)).toBeUndefined();
    }
  });

  test("is not valid under another master key, nor in any other form", () => {
    const foreign = new EventSessionNames(new Vault(randomBytes(32))).make(NODE, 1);
    const text = names.make(NODE, 1);
    for (const given of [
      foreign,
      "",
      "es_",
      text.slice(3),
      `${text} `,
      `${text}=`,
      text.repeat(3),
      "a".repeat(100_000),
    ])
      expect(names.read(given)).toBeUndefined();
  });
});
