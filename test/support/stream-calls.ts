/** Streams over HTTP, as a backend creates and writes them. */
import type { Server } from "./parley.ts";

export interface StreamWrite {
  readonly type?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

export class StreamCalls {
  /** `bearer`: a secret key as `id:secret`, or a connect token. */
  constructor(
    private readonly server: Pick<Server, "url">,
    private readonly bearer: string,
  ) {}

  url(channel: string, query = ""): string {
    return `${this.server.url}/v1/stream/${encodeURIComponent(channel)}${query}`;
  }

  create(channel: string, write: StreamWrite = {}): Promise<Response> {
    return this.send("PUT", channel, write);
  }

  append(channel: string, write: StreamWrite): Promise<Response> {
    return this.send("POST", channel, write);
  }

  /** An event stream of the whole, from its beginning; resolves when its first event has arrived. */
  async follow(channel: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(this.url(channel, "?offset=-1&live=sse"), { headers: this.authorization(), signal });
    if (!response.ok || !response.body) throw new Error(`cannot follow ${channel}: ${response.status}`);
    const reader = response.body.getReader();
    await reader.read();
    void readOn(reader);
  }

  private authorization(): Record<string, string> {
    return { Authorization: `Bearer ${this.bearer}` };
  }

  private async send(
    method: string,
    channel: string,
    { type = "application/json", body, headers }: StreamWrite,
  ): Promise<Response> {
    const response = await fetch(this.url(channel), {
      method,
      headers: { ...this.authorization(), "Content-Type": type, ...headers },
      ...(body !== undefined && { body }),
    });
    if (!response.ok) throw new Error(`${method} ${channel}: ${response.status} ${await response.text()}`);
    return response;
  }
}

/** A response that nothing reads any more may be collected, and its connection closed with it. */
async function readOn(reader: { read(): Promise<{ readonly done: boolean }> }): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // It was aborted.
  }
}
