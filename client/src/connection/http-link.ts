/**
 * A connection without WebSocket: frames of the service come as server-sent events, and those of the client go in numbered batches.
 * Not an EventSource, which connects again by itself, with a token that may have ended.
 */
import type { Socket } from "./options.ts";

/** The service ends a connection that has sent nothing for 60 s. */
const SEND_WITHIN_MS = 25_000;
/** The service sends a comment every 15 s. */
const SILENCE_MAX_MS = 40_000;
const BATCH_MAX_FRAMES = 64;
/** A batch has at most 256 KiB, and a character at most three bytes. */
const BATCH_MAX_CHARS = 85_000;
/** A batch that is not answered within this time is sent again. */
const POST_WITHIN_MS = 10_000;
const AGAIN_MIN_MS = 200;
const AGAIN_MAX_MS = 5000;
/** Then the service has ended the connection. */
const AGAIN_WITHIN_MS = 60_000;
/** The stream may be about to say why the service knows this connection no longer. */
const WHY_WITHIN_MS = 1000;
const REASON_MAX_CHARS = 200;
/** `close()` without a code. */
const NO_CODE = 1005;
const ABNORMAL = 1006;

export class HttpLink implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { readonly data: string }) => void) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null;
  onerror: null = null;
  /** As that of a WebSocket: connecting, open, closing, closed. */
  readyState: 0 | 1 | 2 | 3 = 0;
  /** What the service does not have yet. */
  unsent: string[] = [];
  readonly #address: string;
  readonly #abort = new AbortController();
  #session: string | undefined;
  #sending: Promise<void> | undefined;
  /** The last batch that the service has taken. */
  #nr = 0;
  #sentMs = performance.now();
  #silence: ReturnType<typeof setTimeout> | undefined;

  /** The address of a WebSocket: `wss://…/v1?token=…` */
  constructor(url: string) {
    const [path = "", query = ""] = url.replace(/^ws/i, "http").split("?");
    this.#address = path.replace(/\/*$/, "/events?");
    this.#heard();
    void this.#run(query);
  }

  /** Before the connection is open, frames wait. */
  send(text: string): void {
    if (this.readyState > 1) return;
    // In JSON they are white space, and here they end a frame.
    this.unsent.push(text.replace(/[\r\n]/g, " "));
    this.#flush();
  }

  /** Codes other than 1000, or none, are no goodbye. */
  async close(code: number = NO_CODE, reason = ""): Promise<void> {
    if (this.readyState > 1) return;
    this.readyState = 2;
    if (this.#session && code <= NO_CODE) {
      await this.#sending;
      await this.#post("bye=1&", "");
    }
    this.#end(code, reason);
  }

  async #run(query: string): Promise<void> {
    const response = await this.#fetch(query);
    if (response?.ok && response.body && !this.readyState) {
      this.readyState = 1;
      await turn();
      this.onopen?.();
      await this.#read(response.body).catch(() => undefined);
    }
    this.#end(ABNORMAL, response?.ok ? "" : await reasonOf(response));
  }

  async #read(body: NonNullable<Response["body"]>): Promise<void> {
    const stream = body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    let isClose = false;
    for (;;) {
      const { done, value } = await stream.read();
      if (done) return;
      this.#heard();
      const lines = (text + decoder.decode(value, { stream: true })).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        isClose ||= line === "event: close";
        if (!line.startsWith("data:")) continue;
        const data = line.slice("data:".length).trim();
        if (isClose) {
          const { code, reason } = JSON.parse(data);
          return this.#end(code, reason);
        }
        this.#session ??= JSON.parse(data).session;
        this.#flush();
        await turn();
        // What is read after `close()` is not for the application.
        if (this.readyState === 1) this.onmessage?.({ data });
      }
    }
  }

  #heard(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#end(ABNORMAL, "silent for too long"), SILENCE_MAX_MS);
    // Whatever comes is an occasion: a timer of a page in the background may be late by a minute.
    if (performance.now() - this.#sentMs > SEND_WITHIN_MS) this.send('{"type":"ping"}');
  }

  #flush(): void {
    if (this.#session && this.unsent.length > 0) this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    // What is sent in one turn goes together.
    await null;
    while (this.unsent.length > 0 && this.readyState < 3) {
      let chars = 0;
      const batch = this.unsent.filter(({ length }, at) => {
        chars += length;
        return at === 0 || (at < BATCH_MAX_FRAMES && chars < BATCH_MAX_CHARS);
      });
      await this.#sendBatch(batch.join("\n"));
      this.#nr++;
      this.unsent.splice(0, batch.length);
    }
    this.#sending = undefined;
  }

  /** Again until the service has it: by its number it knows the same batch. */
  async #sendBatch(body: string): Promise<void> {
    this.#sentMs = performance.now();
    for (let waitMs = AGAIN_MIN_MS; ; waitMs = Math.min(AGAIN_MAX_MS, waitMs * 2)) {
      const response = await this.#post("", body);
      if (response?.ok) return;
      const isFinal = response && response.status < 500 && response.status !== 429;
      if (isFinal) await pause(WHY_WITHIN_MS);
      if (isFinal || this.readyState > 1 || performance.now() - this.#sentMs > AGAIN_WITHIN_MS)
        return this.#end(ABNORMAL, await reasonOf(response));
      await pause(waitMs * (1 + Math.random()));
    }
  }

  /** The goodbye, which has no frames, is also sent by a page that is being closed. */
  #post(query: string, body: string): Promise<Response | undefined> {
    const address = `${query}n=${this.#nr + 1}&session=${this.#session}`;
    return this.#fetch(address, { method: "POST", body, keepalive: !body });
  }

  /** `undefined`: there was no answer. The cause is not passed on: some runtimes put the address into it, and with that the token. */
  async #fetch(query: string, post?: RequestInit): Promise<Response | undefined> {
    const signal = post ? AbortSignal.timeout(POST_WITHIN_MS) : this.#abort.signal;
    return fetch(this.#address + query, { ...post, cache: "no-store", signal }).catch(() => undefined);
  }

  #end(code: number, reason: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    clearTimeout(this.#silence);
    this.#abort.abort();
    void turn().then(() => this.onclose?.({ code, reason }));
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The next task: what the application does about one frame is finished before it gets the next, as with a WebSocket. Not a timer:
 * pages in the background run those once a second or less.
 */
async function turn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  await new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
  // An open port keeps a program running.
  port1.close();
}

const reasonOf = async (response: Response | undefined): Promise<string> =>
  response ? `${response.status} ${await response.text().catch(() => "")}`.slice(0, REASON_MAX_CHARS) : "timeout";
