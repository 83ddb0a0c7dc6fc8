/** A small client of streams over HTTP. What is not answered is thrown; which node answers changes with each request. */
import type { Chance } from "../random.ts";

/** How messages are written and read in each content type. Values are texts of Latin-1 without LF, so that bytes show each of them. */
interface Coding {
  readonly encode: (values: readonly string[]) => Uint8Array<ArrayBuffer>;
  readonly decode: (bytes: Uint8Array) => readonly string[];
  /** Reads the data of a message over WebSocket, or of an entry of `as=messages`. */
  readonly ofData: (data: unknown) => string;
  /** Events carry it in base64. */
  readonly isBase64: boolean;
}

const linesOf = (text: string): readonly string[] => {
  const lines = text.split("\n");
  if (lines.pop() !== "") throw new Error(`a message was cut: ${JSON.stringify(text.slice(-100))}`);
  return lines;
};
const lineOf = (text: string): string => {
  const [line, ...more] = linesOf(text);
  if (line === undefined || more.length > 0) throw new Error(`one message was expected, not ${JSON.stringify(text)}`);
  return line;
};

const CODINGS = {
  "application/json": {
    encode: (values) => Buffer.from(JSON.stringify(values.length === 1 ? values[0] : values)),
    decode: (bytes) => (bytes.length === 0 ? [] : JSON.parse(Buffer.from(bytes).toString())),
    ofData: String,
    isBase64: false,
  },
  "text/plain": {
    encode: (values) => Buffer.from(values.map((value) => `${value}\n`).join("")),
    decode: (bytes) => linesOf(Buffer.from(bytes).toString()),
    ofData: (data) => lineOf(String(data)),
    isBase64: false,
  },
  "application/octet-stream": {
    encode: (values) => Buffer.from(values.map((value) => `${value}\n`).join(""), "latin1"),
    decode: (bytes) => linesOf(Buffer.from(bytes).toString("latin1")),
    ofData: (data) => lineOf(Buffer.from(String(data), "base64").toString("latin1")),
    isBase64: true,
  },
} as const satisfies Record<string, Coding>;

export type ContentType = keyof typeof CODINGS;
export const CONTENT_TYPES = Object.keys(CODINGS) as readonly ContentType[];

/** A stream under test. */
export interface StreamName {
  readonly channel: string;
  readonly type: ContentType;
}

export const codingOf = ({ type }: Pick<StreamName, "type">): Coding => CODINGS[type];

/** Longer than a store or a process is away in these tests. */
const ANSWER_MAX_MS = 25_000;

export interface Asked {
  readonly method?: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
  /** Default: the next one. */
  readonly url?: string;
}

export interface Answered {
  readonly status: number;
  /** "" if the answer has none. */
  readonly next: string;
  readonly isClosed: boolean;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

export class StreamsHttp {
  private turn = 0;

  constructor(
    /** The addresses of the nodes that run now. */
    readonly urls: () => readonly string[],
    readonly credential: string,
  ) {}

  /** The address of the next node. */
  get url(): string {
    const urls = this.urls();
    const url = urls[this.turn++ % urls.length];
    if (url === undefined) throw new Error("no node runs");
    return url;
  }

  /** Its head has come. Of an answer without end, that is all there is. */
  open(channel: string, { method = "GET", query = {}, headers = {}, body, signal, url }: Asked): Promise<Response> {
    const fields = new URLSearchParams(query).toString();
    return fetch(`${url ?? this.url}/v1/stream/${channel}${fields && `?${fields}`}`, {
      method,
      headers: { Authorization: `Bearer ${this.credential}`, ...headers },
      keepalive: false,
      tls: { rejectUnauthorized: false },
      ...(body && { body }),
      ...(signal && { signal }),
    });
  }

  async ask(channel: string, asked: Asked = {}): Promise<Answered> {
    const response = await this.open(channel, { signal: AbortSignal.timeout(ANSWER_MAX_MS), ...asked });
    const { status, headers } = response;
    const next = headers.get("stream-next-offset") ?? "";
    const isClosed = headers.get("stream-closed") === "true";
    return { status, headers, next, isClosed, bytes: await response.bytes() };
  }

  /** Creates the stream; returns where it begins. */
  async create({ channel, type }: StreamName): Promise<string> {
    const { status, next } = await this.ask(channel, { method: "PUT", headers: { "Content-Type": type } });
    if (status !== 201) throw new Error(`PUT ${channel}: ${status}`);
    return next;
  }
}

/** Whether the client must send it again, since it does not know what became of it, or came too early. */
export const isAgain = (status: number): boolean => status >= 500 || status === 429;

/** The number in an offset. */
export const numberOf = (offset: string): number => Number(offset.slice(0, offset.indexOf("_")));

/** An offset, of a position as WebSocket and `as=messages` have it. */
export function offsetOf(pos: string): string {
  const [epoch, offset = "", check] = pos.split(".");
  return `${offset.padStart(16, "0")}_${epoch}.${check}`;
}

const LONG_MAX = 3000;
/** The text of a numbered value. Some are long, so that pages and batches have different sizes; the letter needs two bytes in UTF-8. */
export const numberedValue = (writer: string, nr: number, chance: Chance): string =>
  `${writer}:${nr}${chance.once(8) ? `:${"ÿ".repeat(1 + chance.below(LONG_MAX))}` : ""}`;
