import { expect, test } from "bun:test";
import { CHAT_LINE_MAX_BYTES, CHAT_MAX_CHARS, isChatText, typedChatText } from "./chat-text.ts";

test("a line of the chat has text, tabs and line breaks, and no other control characters", () => {
  for (const text of ["hello", "a\tb\nc\r\nd", "Grüße 👩‍👩‍👧", "مرحبا", "\u2028", "x".repeat(CHAT_MAX_CHARS)])
    expect(isChatText(text)).toBe(true);
  for (const text of [
    "\u0000",
    "a\u0001",
    "\u001b[2J",
    "\b",
    "\u007f",
    "\u0085",
    "\u009f",
    "a\rb",
    "\r\r\n",
    "\ud800",
    "",
  ])
    expect(isChatText(text)).toBe(false);
});

test("every text that is accepted fits into a line, however it is made up", () => {
  for (const one of ["€", '"', "\\", "\n", "\t", "\r\n", "👍", "\u2028"]) {
    const text = one.repeat(CHAT_MAX_CHARS / one.length);
    expect(isChatText(text)).toBe(true);
    expect(Buffer.byteLength(JSON.stringify({ text }))).toBeLessThanOrEqual(CHAT_LINE_MAX_BYTES);
  }
});

test("of what was typed or pasted, the part stays that is accepted", () => {
  expect(typedChatText(" \u001b[1mone\r\ntwo\rthree\tfour\u0000\ud83d ")).toBe("[1mone\ntwo\nthree\tfour");
  expect(typedChatText("\u0001 \u0002\n")).toBe("");
  expect(typedChatText("👩‍👩‍👧")).toBe("👩‍👩‍👧");
});
