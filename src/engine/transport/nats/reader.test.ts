/** Whatever a server sends, and wherever its bytes are cut: each message is found, and the client's parser gets all the rest. */
import { describe, expect, test } from "bun:test";
import { NatsReader, REST_MAX_BYTES } from "./reader.ts";

const message = (subject: string, sid: number, payload: string, replyTo?: string): string =>
  `MSG ${subject} ${sid}${replyTo === undefined ? "" : ` ${replyTo}`} ${Buffer.byteLength(payload)}\r\n${payload}\r\n`;

/** Reads `stream` in pieces; what was found is written as the server would have sent it. */
function read(stream: string, pieceBytes: number) {
  const written: string[] = [];
  const messages: string[] = [];
  const reader = new NatsReader({
    message: (sid, bytes, from, to, replyTo, payload) => {
      const text = message(bytes.toString("utf8", from, to), sid, Buffer.from(payload).toString(), replyTo);
      messages.push(text);
      written.push(text);
    },
    // As latin1: a piece may end within a character.
    parse: (bytes) => void written.push(Buffer.from(bytes).toString("latin1")),
  });
  const all = Buffer.from(stream);
  for (let at = 0; at < all.length; at += pieceBytes) reader.read(all.subarray(at, at + pieceBytes));
  return { written: written.join(""), messages };
}

const SHORT = [
  message("a.b", 1, "[2]"),
  message("a.b", 12, ""),
  message("reply.x.*", 3, "line\r\nMSG a 1 5\r\n", "answer.y.7"),
  message("a", 123_456_789, "é€😀"),
];
const headers = "NATS/1.0 503\r\n\r\n";
const OTHERS = [
  'INFO {"max_payload":1048576}\r\n',
  "PING\r\n",
  `HMSG reply.x.9 4 ${headers.length} ${headers.length + 2}\r\n${headers}ok\r\n`,
  "+OK\r\n",
  "PONG\r\n",
  "-ERR 'Permissions Violation for Subscription to \"a\"'\r\n",
];
const PIECES = [1, 2, 3, 7, 50, 1000, REST_MAX_BYTES];

test.each(PIECES)("messages between other commands, in pieces of %i bytes", (pieceBytes) => {
  const stream = SHORT.flatMap((one, at) => [one, OTHERS[at] ?? "", one]).join("") + OTHERS.join("");
  // Only messages have characters of several bytes.
  expect(read(stream, pieceBytes)).toEqual({ written: stream, messages: SHORT.flatMap((one) => [one, one]) });
});

test.each(PIECES.slice(1))("a long message is left to the parser if it comes in pieces: of %i bytes", (pieceBytes) => {
  const long = message("a", 1, "x".repeat(3 * REST_MAX_BYTES));
  const [first = "", second = ""] = SHORT;
  const { written, messages } = read(first + long + second, pieceBytes);
  expect([written === first + long + second, messages]).toEqual([true, [first, second]]);
});

describe("what no server sends", () => {
  test.each([
    ["a number that is none", "MSG a x 2\r\nok\r\n"],
    ["a size that is none", "MSG a 1 2x\r\nok\r\n"],
    ["a number that is too long", `MSG a 1 ${"9".repeat(20)}\r\nok\r\n`],
    ["another command", "MSGS a 1 2\r\nok\r\n"],
    ["headers without a size", "HMSG a 1 x\r\nok\r\n"],
    ["a line without an end", `INFO ${"x".repeat(2 * REST_MAX_BYTES)}`],
  ])("%s is left to the parser, with everything behind it", (_what, bad) => {
    const [first = "", second = ""] = SHORT;
    for (const pieceBytes of [5, REST_MAX_BYTES])
      expect(read(first + bad + second, pieceBytes)).toEqual({ written: first + bad + second, messages: [first] });
  });
});
