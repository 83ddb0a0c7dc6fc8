/** Requests as bytes: by an operation's schemas, nearly by them, and as no client would write them. */
import type { Document, JsonSchema, Operation } from "../../support/contract.ts";
import type { Chance } from "../random.ts";
import { type Hints, HOSTILE, Values } from "./values.ts";
import type { FuzzWorld } from "./world.ts";

export interface Step {
  readonly method: string;
  /** As the document has it: /v1/peers/{peerId}. */
  readonly path: string;
  readonly operation: Operation;
  readonly weight: number;
}

/**
 * What may come back:
 * - contract: it went to this operation, so a status and a body that the document has for it
 * - refusal: it went somewhere, so any answer but a failure of ours, and an error in one of the two shapes
 * - anything: it is no HTTP; an answer or an end, but neither a failure of ours nor the end of the node
 */
export type Expectation = "contract" | "refusal" | "anything";

export interface Draft {
  readonly step: Step;
  readonly bytes: Buffer;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly expects: Expectation;
  /** The admin token was not sent where it is asked for: such tries are limited per address. */
  readonly isStranger: boolean;
}

/** They end what others need, so that they come less often. */
const SPOILING_WEIGHT = 1;
const USUAL_WEIGHT = 32;

export const isSpoiling = ({ method, path }: Pick<Step, "method" | "path">): boolean =>
  method === "DELETE" || path.endsWith("/rotate") || (method === "PATCH" && path.includes("/keys/"));

export const stepsOf = (document: Document): Step[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([name, operation]) => {
      const step = { method: name.toUpperCase(), path, operation };
      return { ...step, weight: isSpoiling(step) ? SPOILING_WEIGHT : USUAL_WEIGHT };
    }),
  );

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const NO_METHODS = ["get", "X", "", "G ET", "PROPFIND", "CONNECT"];
const LARGE_BODY_CHARS = 140_000;
const ILLEGAL_EVERY = 60;

export class Requests {
  private readonly values: Values;
  private readonly deck: readonly Step[];

  constructor(
    private readonly chance: Chance,
    document: Document,
    private readonly port: number,
  ) {
    const steps = stepsOf(document);
    this.deck = steps.flatMap((step) => new Array<Step>(step.weight).fill(step));
    this.values = new Values(chance, document.components.schemas, {});
  }

  next(world: FuzzWorld): Draft {
    const { chance } = this;
    this.values.hints = world.hints;
    const step = chance.pick(this.deck);
    if (chance.once(ILLEGAL_EVERY)) return this.illegal(step, world);
    const isValid = chance.below(100) < 50;
    const target = this.target(step, world, isValid);
    const credential = this.credential(step, world, isValid);
    const host = this.host(step, world, isValid);
    const method = !isValid && chance.once(12) ? chance.pick(METHODS) : step.method;
    const body = this.body(step, isValid);
    const odd = isValid ? [] : this.oddHeaders();
    const lines = [
      `${method} ${target.path}${joined(target.query, credential.query)} HTTP/1.1`,
      `Host: ${host.text}`,
      ...credential.headers,
      ...body.headers,
      ...odd,
    ];
    const isSame = method === step.method && target.isSame && host.isRight;
    return {
      step,
      method,
      path: target.path,
      bytes: Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body.bytes]),
      expects: isSame ? "contract" : "refusal",
      isStranger: step.path.startsWith("/api/internal") && !credential.isRight,
    };
  }

  private target({ method, path, operation }: Step, world: FuzzWorld, isValid: boolean) {
    const { chance } = this;
    const links = world.links[`${method} ${path}`];
    if (links && !chance.once(3)) {
      const link = chance.pick(links);
      const [bare = "", query = ""] = (isValid ? link : this.scratched(link)).split("?");
      return { path: bare, query, isSame: isValid };
    }
    const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
      const known = chance.pick(world.names[name] ?? ["x"]);
      return encode(isValid || chance.once(2) ? known : asText(this.values.anything(0)));
    });
    const isOdd = !isValid && chance.once(10);
    const whole = isOdd ? this.oddPath(filled) : filled;
    const pairs = operation.parameters.filter((one) => one.in === "query").flatMap((one) => this.pair(one, isValid));
    if (!isValid && chance.once(6)) pairs.push(`${encode(asText(chance.pick(HOSTILE)))}=${chance.below(9)}`);
    return { path: whole, query: pairs.join("&"), isSame: whole === filled && isSamePath(whole) };
  }

  private pair({ name, required, schema }: Operation["parameters"][number], isValid: boolean): string[] {
    const { chance } = this;
    if (!required && !chance.once(3)) return [];
    const value = isValid || chance.once(2) ? this.values.valid(schema, name) : this.values.anything(1);
    const pair = `${name}=${encode(asText(value))}`;
    return !isValid && chance.once(10) ? [pair, pair] : [pair];
  }

  private oddPath(path: string): string {
    const { chance } = this;
    const at = chance.below(path.length + 1);
    switch (chance.below(7)) {
      case 0:
        return `${path}/`;
      case 1:
        return path.replaceAll("/", "//");
      case 2:
        return `${path.slice(0, at)}/../${path.slice(at)}`;
      case 3:
        return `${path.slice(0, at)}%${path.slice(at)}`;
      case 4:
        return path.toUpperCase();
      case 5:
        return `http://example.com${path}`;
      default:
        return path.slice(0, at) || "/";
    }
  }

  private credential({ operation }: Step, world: FuzzWorld, isValid: boolean) {
    const { chance } = this;
    const schemes = (operation.security ?? []).flatMap((one) => Object.keys(one));
    const scheme = schemes.length > 0 ? chance.pick(schemes) : undefined;
    const isRight = isValid || !chance.once(4);
    const secret = isRight && scheme ? (world.credentials[scheme] ?? "") : chance.pick(world.wrong);
    if (scheme === undefined || (!isRight && chance.once(3))) return { headers: [], query: "", isRight: false };
    if (scheme === "applicationKey") return { headers: [], query: `secretKey=${encode(secret)}`, isRight };
    const kind = isRight ? "Bearer" : chance.pick(["Bearer", "bearer", "Basic", "", "Bearer ", "Digest"]);
    const header = `Authorization: ${kind} ${secret}`;
    return { headers: !isRight && chance.once(8) ? [header, header] : [header], query: "", isRight };
  }

  /** The application's own for its API, the node's for the rest. */
  private host({ operation }: Step, world: FuzzWorld, isValid: boolean) {
    const { chance, port } = this;
    const right = operation.servers
      ? `${world.app}.localhost:${port}`
      : `${chance.pick(["127.0.0.1", "localhost"])}:${port}`;
    if (isValid || !chance.once(10)) return { text: right, isRight: true };
    const others = [
      `${world.app}.localhost`,
      `127.0.0.1:${port}`,
      "unknown.localhost",
      "a.b.localhost",
      "evil.example.com",
      "[::1]",
      "",
      " ",
      "x".repeat(300),
      "%00",
      `${world.app.toUpperCase()}.LOCALHOST`,
    ];
    return { text: chance.pick(others), isRight: false };
  }

  private body({ operation }: Step, isValid: boolean): { readonly headers: string[]; readonly bytes: Buffer } {
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
  private file(isValid: boolean): { readonly headers: string[]; readonly bytes: Buffer } {
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

  private oddHeaders(): string[] {
    const { chance } = this;
    if (!chance.once(5)) return [];
    return [
      chance.pick([
        "X-Forwarded-For: 1.2.3.4, 5.6.7.8",
        "X-Forwarded-Host: evil.example.com",
        "X-Forwarded-Proto: javascript",
        "X-Parley-App: unknown",
        "X-HTTP-Method-Override: DELETE",
        "Origin: https://evil.example.com",
        "Cookie: a=b",
        `X-Long: ${"x".repeat(8000)}`,
        "Accept: text/html, */*;q=0.1",
        "Accept-Encoding: gzip, br",
        "Range: bytes=0-9",
        "Range: bytes=9-0,-5,x",
        "If-None-Match: *",
        "Connection: keep-alive, Upgrade",
        "Upgrade: h2c",
        "X-Request-Id: ../../x",
        "Content-Encoding: gzip",
        "Expect: 100-continue",
        "Te: trailers",
        `Accept-Language: ${"é".repeat(20)}`,
      ]),
    ];
  }

  /** What no HTTP client sends. */
  private illegal(step: Step, world: FuzzWorld): Draft {
    const { chance, port } = this;
    const host = `Host: ${operationHost(step, world, port)}`;
    const line = `${step.method} ${encodeURI(step.path)} HTTP/1.1`;
    const texts = [
      `${line}\r\n${host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{"a":`,
      `${line}\r\n${host}\r\nContent-Length: -1\r\n\r\n`,
      `${line}\r\n${host}\r\nContent-Length: 99999999999999999999\r\n\r\n{}`,
      `${line}\r\n${host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${line}\r\n${host}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
      `${line}\r\n${host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`,
      `${line}\r\n\r\n`,
      `${line}\r\n${host}\r\n${host}x\r\n\r\n`,
      `${line}\r\n${host}\r\nX Y: z\r\n\r\n`,
      `${line}\r\n${host}\r\nX: \u0000\r\n\r\n`,
      `${chance.pick(NO_METHODS)} ${encodeURI(step.path)} HTTP/1.1\r\n${host}\r\n\r\n`,
      `${line}\n${host}\n\n`,
      `${step.method}\r\n\r\n`,
      `${step.method} / HTTP/9.9\r\n${host}\r\n\r\n`,
      `${step.method} * HTTP/1.1\r\n${host}\r\n\r\n`,
      `GET /${"x".repeat(70_000)} HTTP/1.1\r\n${host}\r\n\r\n`,
      `${line}\r\n${host}\r\n${"X: y\r\n".repeat(300)}\r\n`,
      `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    ];
    const bytes = chance.once(6) ? chance.bytes(1 + chance.below(200)) : Buffer.from(chance.pick(texts), "latin1");
    return { step, method: step.method, path: step.path, bytes, expects: "anything", isStranger: true };
  }

  /** One character of it changed: a link that is no longer signed. */
  private scratched(link: string): string {
    const at = 1 + this.chance.below(link.length - 1);
    return `${link.slice(0, at)}${this.chance.pick(["x", "0", "%", "&", "=", "", "/"])}${link.slice(at + 1)}`;
  }
}

const NO_BODY = { headers: [], bytes: Buffer.alloc(0) };
const TYPES = [
  "text/plain",
  "",
  "application/json; charset=utf-16",
  "multipart/form-data; boundary=x",
  "application/xml",
  "x",
];

/** With its length, or in chunks. */
function framed(chance: Chance, bytes: Buffer, type: string): { readonly headers: string[]; readonly bytes: Buffer } {
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

const operationHost = ({ operation }: Step, world: FuzzWorld, port: number): string =>
  operation.servers ? `${world.app}.localhost:${port}` : `127.0.0.1:${port}`;

const asText = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

const joined = (...queries: readonly string[]): string => {
  const all = queries.filter((query) => query !== "").join("&");
  return all === "" ? "" : `?${all}`;
};

/** Not one that is folded, or read as another, on its way to an operation. */
const isSamePath = (path: string): boolean =>
  !/%2F|%00|%5C/i.test(path) &&
  !path.split("/").some((part, at) => at > 0 && ["", ".", "..", "%2E", "%2E%2E"].includes(part));

function asForm(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([name, one]) => `${encode(name)}=${encode(asText(one))}`)
    .join("&");
}

export type { Hints };
