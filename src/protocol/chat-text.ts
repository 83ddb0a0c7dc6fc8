/** Lines of a room's chat: what the service accepts, and what the meeting page makes of what a person has typed. */
import { KIB } from "./limits.ts";

export const CHAT_MAX_CHARS = 4000;
/**
 * A line as JSON, as it is stored: room for the longest text in any script, but not for one that is written in escapes or padded with
 * spaces. Guests must not fill the history with more than they say.
 */
export const CHAT_LINE_MAX_BYTES = 12 * KIB;

/** Control characters other than tabs and line breaks show nothing, and take six bytes each in JSON. */
const CONTROL = /[^\P{Cc}\t\n\r]|\r(?!\n)/u;
const CONTROL_OR_LONE = /[^\P{Cc}\t\n]|\p{Cs}/gu;

export const CHAT_TEXT_RULE = `1 to ${CHAT_MAX_CHARS} characters, without control characters other than tabs and line breaks`;

export const isChatText = (text: unknown): text is string =>
  typeof text === "string" &&
  text.length >= 1 &&
  text.length <= CHAT_MAX_CHARS &&
  text.isWellFormed() &&
  !CONTROL.test(text);

/** The text without what the service would refuse; it may be empty. */
export const typedChatText = (text: string): string => text.replace(/\r\n?/g, "\n").replace(CONTROL_OR_LONE, "").trim();
