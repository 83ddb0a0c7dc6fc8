/** Readers of streams: each goes on where it was, whatever happens to its requests and connections. */
import type { SecretKey } from "../admin.ts";
import { selfSigned } from "../jwt.ts";
import type { Chance } from "../random.ts";
import { nextTurn } from "../wait.ts";
import { attempt } from "../wire/connect.ts";
import type { AnyFrame } from "../wire/shapes.ts";
import { Wire, type WireEvent } from "../wire/wire.ts";
import { codingOf, isAgain, offsetOf, type StreamName, type StreamsHttp } from "./http.ts";
import type { Piece, Reading } from "./judge.ts";

const AGAIN_AFTER_MS = 40;
const LOOK_EVERY_MS = 80;
/** Longer than a connection lives. */
const CONNECTED_MAX_MS = 600_000;
/** The client cuts one in this number of requests while it waits. */
const CUT_ONE_IN = 6;
const CUT_AFTER_MAX_MS = 700;

interface ReaderParts {
  readonly http: StreamsHttp;
  readonly stream: StreamName;
  /** Where the stream begins. */
  readonly from: string;
  readonly key: Pick<SecretKey, "keyId" | "secret">;
  readonly chance: Chance;
}

export abstract class Reader {
  protected at: string;
  /** A response has said that nothing follows. */
  isAtEnd = false;
  values = 0;
  private readonly pieces: Piece[] = [];
  protected readonly complaints: string[] = [];
  protected readonly over = new AbortController();
  private readonly running: Promise<void>;

  constructor(
    protected readonly parts: ReaderParts,
    readonly name: string,
  ) {
    this.at = parts.from;
    this.running = this.run();
  }

  /** One request or connection. */
  protected abstract read(signal: AbortSignal): Promise<void>;

  get evidence(): Reading {
    const { name, parts, pieces, complaints } = this;
    return { reader: name, stream: parts.stream.channel, from: parts.from, pieces, complaints };
  }

  get isStuck(): boolean {
    return this.complaints.length > 0;
  }

  stop(): Promise<void> {
    this.over.abort();
    return this.running;
  }

  private async run(): Promise<void> {
    // The class below is not whole yet.
    await nextTurn();
    while (!this.isAtEnd && !this.isStuck && !this.over.signal.aborted) {
      const { chance } = this.parts;
      const cut = chance.once(CUT_ONE_IN) ? [AbortSignal.timeout(chance.below(CUT_AFTER_MAX_MS))] : [];
      try {
        await this.read(AbortSignal.any([this.over.signal, ...cut]));
      } catch {
        await Bun.sleep(AGAIN_AFTER_MS);
      }
    }
  }

  protected take(to: string, values: readonly string[]): void {
    this.pieces.push({ to, values });
    this.values += values.length;
    this.at = to;
  }

  /** Whether the answer has what was asked for. Throws if it must be asked for again. */
  protected accept({ status }: Pick<Response, "status">): boolean {
    if (isAgain(status)) throw new Error(`${status}`);
    if (status === 200 || status === 204) return true;
    this.complaints.push(`it was answered ${status} at ${this.at}`);
    return false;
  }

  protected decoded(bytes: Uint8Array): readonly string[] {
    return codingOf(this.parts.stream).decode(bytes);
  }
}

export class CatchUpReader extends Reader {
  protected override async read(signal: AbortSignal): Promise<void> {
    const { http, stream } = this.parts;
    const answer = await http.ask(stream.channel, { query: { offset: this.at }, signal });
    if (!this.accept(answer)) return;
    this.take(answer.next, this.decoded(answer.bytes));
    this.isAtEnd = answer.isClosed;
    if (answer.headers.has("stream-up-to-date")) await Bun.sleep(LOOK_EVERY_MS);
  }
}

export class LongPollReader extends Reader {
  private cursor: string | undefined;

  protected override async read(signal: AbortSignal): Promise<void> {
    const { http, stream } = this.parts;
    const query = { offset: this.at, live: "long-poll", ...(this.cursor !== undefined && { cursor: this.cursor }) };
    const answer = await http.ask(stream.channel, { query, signal });
    if (!this.accept(answer)) return;
    this.cursor = answer.headers.get("stream-cursor") ?? undefined;
    this.take(answer.next, answer.status === 204 ? [] : this.decoded(answer.bytes));
    this.isAtEnd = answer.isClosed;
  }
}

interface Event {
  readonly type: string;
  readonly data: string;
  readonly id: string;
}

/** As an EventSource reads it. */
function eventIn(text: string): Event {
  const fields = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1);
    const name = line.slice(0, colon);
    fields.set(name, [...(fields.get(name) ?? []), value.startsWith(" ") ? value.slice(1) : value]);
  }
  const field = (name: string): string => (fields.get(name) ?? []).join("\n");
  return { type: field("event"), data: field("data"), id: field("id") };
}

export class EventsReader extends Reader {
  /** By `Last-Event-ID`, as an EventSource does, or by the offset. */
  protected readonly isSource: boolean = false;

  protected override async read(signal: AbortSignal): Promise<void> {
    const { http, stream, from } = this.parts;
    const response = await http.open(stream.channel, {
      query: { offset: this.isSource ? from : this.at, live: "sse" },
      ...(this.isSource && this.at !== from && { headers: { "Last-Event-ID": this.at } }),
      signal,
    });
    if (!this.accept(response)) return;
    if (response.status === 204) {
      this.isAtEnd = true;
      return;
    }
    let unread = "";
    // Counts only when the event behind it says where it ends.
    let values: readonly string[] = [];
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      unread += decoder.decode(bytes, { stream: true });
      const events = unread.split("\n\n");
      unread = events.pop() ?? "";
      for (const { type, data, id } of events.map(eventIn)) {
        if (type === "data") values = this.heard(this.valuesIn(data), id, values);
        if (type === "control") values = this.reached(JSON.parse(data), id, values);
      }
    }
  }

  private valuesIn(data: string): readonly string[] {
    return this.decoded(Buffer.from(data, codingOf(this.parts.stream).isBase64 ? "base64" : "utf8"));
  }

  /** The program behind an EventSource has them now, and it will ask for what is behind this id. */
  private heard(came: readonly string[], id: string, before: readonly string[]): readonly string[] {
    if (!this.isSource) return [...before, ...came];
    this.take(id, came);
    return before;
  }

  private reached(
    control: { readonly streamNextOffset: string; readonly streamClosed?: boolean },
    id: string,
    values: readonly string[],
  ): readonly string[] {
    if (id !== control.streamNextOffset) this.complaints.push(`id ${id} beside ${control.streamNextOffset}`);
    this.take(control.streamNextOffset, values);
    this.isAtEnd = control.streamClosed === true;
    return [];
  }
}

export class EventSourceReader extends EventsReader {
  protected override readonly isSource = true;
}

/** A WebSocket subscriber. No frame says that the stream is closed. */
export class Subscriber extends Reader {
  protected override async read(signal: AbortSignal): Promise<void> {
    const { http, stream, key } = this.parts;
    const { channel } = stream;
    const token = selfSigned(key.keyId, key.secret, { sub: this.name, permissions: ["subscribe"] });
    const heard = (event: WireEvent): void => {
      if (event.kind === "text") this.frame(JSON.parse(event.text));
    };
    const wire = await attempt(http.url, { query: `token=${encodeURIComponent(token)}`, heard });
    if (!(wire instanceof Wire)) throw new Error(String(wire.status));
    signal.addEventListener("abort", () => wire.drop());
    if (signal.aborted) wire.drop();
    wire.send({ type: "subscribe", channel, recover: this.at, requestId: "s" });
    await wire.gone(CONNECTED_MAX_MS);
  }

  private frame(frame: AnyFrame): void {
    if (frame.type === "ack" && frame.recovered !== true)
      this.complaints.push(`it was not recovered from ${this.at}: ${JSON.stringify(frame)}`);
    if (frame.type === "message" && frame.pos !== undefined)
      this.take(offsetOf(frame.pos), [codingOf(this.parts.stream).ofData(frame.data)]);
  }
}
