/** What a command sends: JSON or text, from its arguments or from the lines of stdin. */
import { MESSAGE_MAX_BYTES } from "../../../protocol/limits.ts";
import { utf8Bytes } from "../../../protocol/names.ts";
import { Failure, UsageError } from "../../line/errors.ts";

/** Not in the types of the language yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** JSON if it is JSON, otherwise a string. What begins like JSON and is not is probably a mistake. */
export function payloadOf(text: string, isText: boolean): unknown {
  const value = isText ? text : jsonOrText(text);
  if (utf8Bytes(JSON.stringify(value)) > MESSAGE_MAX_BYTES)
    throw new Failure("message_too_large", `the message is longer than ${MESSAGE_MAX_BYTES} bytes`);
  return value;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text, exact as Parameters<typeof JSON.parse>[1]);
  } catch (error) {
    if (!/^\s*[[{]/.test(text)) return text;
    throw new UsageError(
      `${JSON.stringify(shortened(text))} looks like JSON but is not: ${(error as Error).message}; --text sends it as text`,
    );
  }
}

/** Numbers beyond double precision are sent as they are written. */
const exact: Reviver = (_key, value, { source }) =>
  typeof value === "number" && source !== undefined && String(value) !== source ? rawJSON(source) : value;

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

export interface Line {
  readonly text: string;
  /** Its number; the first line of the stream is 1. */
  readonly at: number;
}

/** The lines of a stream without their ends; empty ones are left out. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void> {
  const decoder = new TextDecoder();
  let rest = "";
  let at = 0;
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      at++;
      const text = line.replace(/\r$/, "");
      if (text !== "") yield { text, at };
    }
    // No message is that long, so the line can be refused before its end has come.
    if (rest.length > 2 * MESSAGE_MAX_BYTES)
      throw new Failure("message_too_large", `line ${at + 1} is longer than ${MESSAGE_MAX_BYTES} bytes`);
  }
  rest += decoder.decode();
  if (rest !== "") yield { text: rest, at: at + 1 };
}
