/** Names on the wire: peer ids, channel names, reserved prefixes. */
import { CHANNEL_MAX_BYTES, MESSAGE_ID_MAX_CHARS, PEER_ID_MAX_CHARS } from "./limits.ts";

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const RESERVED = /^_(?:metered|internal|system|parley)\//i;

export const isPeerId = (value: unknown): value is string =>
  typeof value === "string" && value.length <= PEER_ID_MAX_CHARS && PRINTABLE_ASCII.test(value);

export const isMessageId = (value: unknown): value is string =>
  typeof value === "string" && value.length <= MESSAGE_ID_MAX_CHARS && PRINTABLE_ASCII.test(value);

export const hasControl = (text: string): boolean => CONTROL.test(text);

/** UTF-8 cannot encode a lone surrogate: two different names with one would be equal on the wire. */
export const isWellFormed = (text: string): boolean => text.isWellFormed();

/** Buffer counts without encoding, which matters per frame; browsers have none. Chosen once, at the start. */
const { Buffer: counter } = globalThis as { Buffer?: { byteLength(text: string, encoding: "utf8"): number } };
export const utf8Bytes: (text: string) => number = counter
  ? (text) => counter.byteLength(text, "utf8")
  : (text) => new TextEncoder().encode(text).length;

export const isChannelName = (value: unknown): value is string =>
  typeof value === "string" &&
  value !== "" &&
  value.length <= CHANNEL_MAX_BYTES &&
  !value.includes("*") &&
  !hasControl(value) &&
  isWellFormed(value) &&
  utf8Bytes(value) <= CHANNEL_MAX_BYTES;

/** No pattern covers a reserved name, not even `**`. */
export const isReserved = (channel: string): boolean => RESERVED.test(channel);
