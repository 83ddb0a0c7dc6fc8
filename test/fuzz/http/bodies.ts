/** Request bodies: valid by an operation's schemas, nearly valid, or invalid; with a length, or in chunks. */
import type { JsonSchema, Operation } from "../../support/contract.ts";
import type { Chance } from "../../support/random.ts";
import { asText, encode, type Values } from "./values.ts";

export interface Body {
  readonly headers: readonly string[];
  readonly bytes: Buffer;
}

const LARGE_BODY_CHARS = 140_000;

export class Bodies {
  constructor(
    private readonly chance: Chance,
    private readonly values: Values,
  ) {}

  next(operation: Operation, isValid: boolean): Body {
    const { chance } = this;
    const content = operation.requestBody?.content;
    if (!content) return !isValid && chance.once(8) ? framed(chance, Buffer.from("{}"), "application/json") : NO_BODY;
    const schema = content["application/json"]?.schema;
    if (!schema) return this.file(isValid);
    if (!isValid && chance.once(12)) return framed(chance, this.broken(schema), chance.pick(TYPES));
    const value = isValid ? this.values.valid(schema) : this.values.invalid(schema);
    if (content["application/x-www-form-urlencoded"] && chance.once(4))
      return framed(chance, Buffer.from(asForm(value)), "application/x-www-form-urlencoded");
    const text = JSON.stringify(value) ?? "";
    const type = isValid ? "application/json" : chance.pick(["application/json", "application/json", ...TYPES]);
    return framed(chance, Buffer.from(text), type);
  }

  /** A piece of a recording: small, so that a million requests fit on a disk. */
  private file(isValid: boolean): Body {
    const { chance } = this;
    const bytes = chance.bytes(chance.below(400));
    const { headers, bytes: body } = framed(chance, bytes, "application/octet-stream");
    const ranges = [
      `bytes 0-${Math.max(0, bytes.length - 1)}/${bytes.length || 1}`,
      "bytes */1000",
      `bytes 0-${Math.max(0, bytes.length - 1)}/*`,
      ...(isValid
        ? []
        : [
            "bytes 5-1/10",
            "bytes 0-0/0",
            "bytes -1-5/10",
            "bytes 0-99999999999999999999/1",
            "x",
            "bytes=0-1",
            "bytes 0-1/9007199254740993",
          ]),
    ];
    return { headers: chance.once(2) ? headers : [...headers, `Content-Range: ${chance.pick(ranges)}`], bytes: body };
  }

  private broken(schema: JsonSchema): Buffer {
    const { chance } = this;
    const text = JSON.stringify(this.values.valid(schema));
    switch (chance.below(12)) {
      case 0:
        return Buffer.from(text.slice(0, chance.below(text.length + 1)));
      case 1:
        return Buffer.from(`${text}${text}`);
      case 2:
        return Buffer.from(`\ufeff${text}`);
      case 3:
        return Buffer.from(text, "utf16le");
      case 4:
        return Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0xc0, 0x80])]);
      case 5:
        return Buffer.from(text.replace("{", '{"peerId":"a","peerId":"b","roomName":"a","roomName":"b",'));
      case 6:
        return Buffer.from(`${"[".repeat(5000)}${"]".repeat(5000)}`);
      case 7:
        return Buffer.from(`${text.slice(0, -1)},"x":"${"x".repeat(chance.once(4) ? LARGE_BODY_CHARS : 2000)}"}`);
      case 8:
        return chance.bytes(chance.below(300));
      case 9:
        return Buffer.from(text.replaceAll('"', '\\"'));
      case 10:
        return Buffer.from(`{"metadata":{"n":12345678901234567890,"m":1e400,"s":"${" ".repeat(9000)}"},"peerId":"a"}`);
      default:
        return Buffer.from(chance.pick(["", "null", "[]", "0", '""', "{", "true", "{}{}", "\n", "a=b&c", "%7B%7D"]));
    }
  }
}

const NO_BODY: Body = { headers: [], bytes: Buffer.alloc(0) };
const TYPES = [
  "text/plain",
  "",
  "application/json; charset=utf-16",
  "multipart/form-data; boundary=x",
  "application/xml",
  "x",
];

/** With its length, or in chunks. */
function framed(chance: Chance, bytes: Buffer, type: string): Body {
  const headers = type === "" ? [] : [`Content-Type: ${type}`];
  if (!chance.once(8)) return { headers: [...headers, `Content-Length: ${bytes.length}`], bytes };
  const cut = chance.below(bytes.length + 1);
  const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)].filter((piece) => piece.length > 0);
  const chunks = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}${chance.once(6) ? ";a=b" : ""}\r\n`),
    piece,
    Buffer.from("\r\n"),
  ]);
  return {
    headers: [...headers, "Transfer-Encoding: chunked"],
    bytes: Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")]),
  };
}

function asForm(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([name, one]) => `${encode(name)}=${encode(asText(one))}`)
    .join("&");
}
