/** Streams over HTTP, for tests: an application with streams and channels with history, and requests to them. */
import type { Key } from "../../support/admin.ts";
import type { Json } from "../../support/http.ts";
import { fresh, type World } from "../raw/support/world.ts";

const CHANNEL_RULES = [
  { pattern: "kept/**", history: { messages: 50, seconds: 600 } },
  { pattern: "plain/**", graceSec: 1 },
  { pattern: "**", stream: { seconds: 600, bytes: 32 * 1024 * 1024 } },
];

export const withStreams = async ({ admin, app }: World): Promise<unknown> =>
  admin.must("PATCH", `/apps/${app._id}`, { channelRules: CHANNEL_RULES });

export interface StreamCall {
  readonly credential?: string | undefined;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
}

export class StreamClient {
  constructor(readonly world: World) {}

  /** With the secret key of the world, unless the call says otherwise; "" for none. */
  call(method: string, channel: string, one: StreamCall = {}): Promise<Response> {
    const { credential = this.world.key.credential, query = "", headers, body, signal } = one;
    const url = `${this.world.url}/v1/stream/${channel}${query && `?${query}`}`;
    return fetch(url, {
      method,
      headers: { ...(credential && { Authorization: `Bearer ${credential}` }), ...headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  }

  /** A new stream of this type; returns its name. */
  async create(contentType = "application/json", headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const channel = fresh("stream");
    const response = await this.call("PUT", channel, { headers: { "Content-Type": contentType, ...headers } });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    return channel;
  }

  async append(
    channel: string,
    body: string | Uint8Array<ArrayBuffer>,
    contentType = "application/json",
  ): Promise<string> {
    const response = await this.call("POST", channel, { headers: { "Content-Type": contentType }, body });
    if (response.status !== 204) throw new Error(`${response.status} ${await response.text()}`);
    return response.headers.get("stream-next-offset") ?? "";
  }

  async read(channel: string, query = ""): Promise<unknown> {
    const response = await this.call("GET", channel, { query });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  }
}

export const errorOf = async (response: Response): Promise<string> => ((await response.json()) as Json).error as string;

/** Status and code of a refusal. */
export const refusalOf = async (response: Response): Promise<string> =>
  response.status < 400 ? String(response.status) : `${response.status} ${await errorOf(response)}`;

/** A reader of Server-Sent Events, event by event. */
export class EventClient {
  private readonly reader;
  private readonly decoder = new TextDecoder();
  private text = "";

  constructor(readonly response: Response) {
    if (!response.body) throw new Error("there is no body");
    this.reader = response.body.getReader();
  }

  /** The next event, without comments; `undefined`: the response has ended. */
  async next(): Promise<{ event: string; data: string; id: string | undefined } | undefined> {
    for (;;) {
      const end = this.text.indexOf("\n\n");
      if (end >= 0) {
        const lines = this.text.slice(0, end).split("\n");
        this.text = this.text.slice(end + 2);
        const of = (name: string): string[] =>
          lines
            .filter((line) => line.startsWith(`${name}:`))
            .map((line) => line.slice(name.length + 1).replace(/^ /, ""));
        if (of("event").length > 0)
          return { event: of("event")[0] ?? "", data: of("data").join("\n"), id: of("id")[0] };
        continue;
      }
      const { value, done } = await this.reader.read();
      if (done) return undefined;
      this.text += this.decoder.decode(value, { stream: true });
    }
  }

  /** The data of the next events of this kind. */
  async until(event: string): Promise<string> {
    for (;;) {
      const next = await this.next();
      if (!next) throw new Error(`the response has ended without ${event}`);
      if (next.event === event) return next.data;
    }
  }

  /** Resolves when the service ends the response. */
  async ended(): Promise<void> {
    while (await this.next());
  }

  close(): Promise<void> {
    return this.reader.cancel();
  }
}

export const keyQuery = ({ keyId }: Pick<Key, "keyId">): string => `key=${keyId}`;
