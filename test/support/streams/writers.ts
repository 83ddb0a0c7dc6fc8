/** Writers of numbered values, who send each write until it is answered. */
import type { Chance } from "../random.ts";
import { nextTurn } from "../wait.ts";
import {
  type Answered,
  codingOf,
  isAgain,
  numberedValue,
  numberOf,
  type StreamName,
  type StreamsHttp,
} from "./http.ts";
import type { Write, Writing } from "./judge.ts";

const AGAIN_AFTER_MS = 40;
const PAUSE_MAX_MS = 60;
/** A write to a stream of JSON has at most this number of values. */
const VALUES_MAX = 3;

interface Sent extends Write {
  times: number;
  next: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

export abstract class Writer {
  readonly writes: Sent[] = [];
  protected readonly complaints: string[] = [];
  private isOver = false;
  private isGivenUp = false;
  private readonly running: Promise<void>;

  constructor(
    protected readonly http: StreamsHttp,
    protected readonly stream: StreamName,
    readonly name: string,
    protected readonly chance: Chance,
  ) {
    this.running = this.run();
  }

  protected abstract readonly isProducer: boolean;
  protected abstract step(): Promise<void>;

  get answered(): number {
    return this.writes.reduce((sum, { next }) => sum + Number(next !== undefined), 0);
  }

  get evidence(): Writing {
    const { name, isProducer, writes, complaints } = this;
    return { writer: name, stream: this.stream.channel, isProducer, writes, complaints };
  }

  /** Resolves when everything was answered. */
  stop(): Promise<void> {
    this.isOver = true;
    return this.running;
  }

  /** Nothing is sent any more, although it may be unanswered. */
  giveUp(): Promise<void> {
    this.isGivenUp = true;
    return this.stop();
  }

  private async run(): Promise<void> {
    // The class below is not whole yet.
    await nextTurn();
    while (!this.isOver && this.complaints.length === 0) {
      await this.step().catch((error: unknown) => this.complaints.push(String(error)));
      await Bun.sleep(this.chance.below(PAUSE_MAX_MS));
    }
  }

  protected begin(headers: Readonly<Record<string, string>> = {}): Sent {
    // Texts and bytes have one message for each write, so one value.
    const count = this.stream.type === "application/json" ? 1 + this.chance.below(VALUES_MAX) : 1;
    const from = this.writes.reduce((sum, { values }) => sum + values.length, 0);
    const values = Array.from({ length: count }, (_, nr) => numberedValue(this.name, from + nr, this.chance));
    const sent: Sent = { values, times: 0, next: undefined, headers };
    this.writes.push(sent);
    return sent;
  }

  /** Sends it until it is answered. */
  protected async deliver(sent: Sent): Promise<void> {
    while (!this.isGivenUp) {
      const answer = await this.once(sent).catch(() => undefined);
      if (answer?.status === 200 || answer?.status === 204) {
        sent.next ??= answer.next;
        if (this.chance.once(8)) await this.checkEnd(answer);
        return;
      }
      if (answer && !isAgain(answer.status) && !this.isEarly(sent, answer)) return this.complain("a write", answer);
      await Bun.sleep(AGAIN_AFTER_MS);
    }
  }

  /** Whether it comes before another one that is under way. */
  protected isEarly(_sent: Sent, _answer: Answered): boolean {
    return false;
  }

  protected once(sent: Sent, more: Readonly<Record<string, string>> = {}): Promise<Answered> {
    sent.times++;
    return this.http.ask(this.stream.channel, {
      method: "POST",
      headers: { "Content-Type": this.stream.type, ...sent.headers, ...more },
      body: codingOf(this.stream).encode(sent.values),
    });
  }

  /** The node that is asked next knows of the write. */
  private async checkEnd({ next }: Answered): Promise<void> {
    const head = await this.http.ask(this.stream.channel, { method: "HEAD" }).catch(() => undefined);
    if (!head || isAgain(head.status)) return;
    if (head.status !== 200 || numberOf(head.next) < numberOf(next))
      this.complaints.push(`after ${next}, HEAD says ${head.status} ${head.next}`);
  }

  protected complain(what: string, { status, bytes }: Answered): void {
    this.complaints.push(`${what} was answered ${status} ${Buffer.from(bytes)}`);
  }
}

/** Its writes may be stored as often as they were sent. */
export class PlainWriter extends Writer {
  protected readonly isProducer = false;

  protected step(): Promise<void> {
    return this.deliver(this.begin());
  }
}

const FENCED = 403;

/** Its writes have numbers, and are also sent twice at once, late, and before their turn. */
export class ProducerWriter extends Writer {
  protected readonly isProducer = true;
  private epoch = 0;
  private seq = 0;

  protected async step(): Promise<void> {
    switch (this.chance.below(8)) {
      case 0:
        return this.twice();
      case 1:
        return this.early();
      case 2:
        return this.late();
      case 3:
        return this.anew();
      default:
        return this.deliver(this.next());
    }
  }

  private next(): Sent {
    return this.begin({
      "Producer-Id": this.name,
      "Producer-Epoch": String(this.epoch),
      "Producer-Seq": String(this.seq++),
    });
  }

  private async twice(): Promise<void> {
    const sent = this.next();
    await Promise.all([this.deliver(sent), this.deliver(sent)]);
  }

  private async early(): Promise<void> {
    const [first, second] = [this.next(), this.next()];
    await Promise.all([this.deliver(second), this.deliver(first)]);
  }

  /** One of those before comes again. */
  private async late(): Promise<void> {
    const sent = this.next();
    await this.deliver(sent);
    const answer = await this.once(this.earlier(sent)).catch(() => undefined);
    if (answer && answer.status !== 204 && !isAgain(answer.status)) this.complain("a late write", answer);
  }

  private earlier(sent: Sent): Sent {
    const ofEpoch = this.writes.filter(({ headers }) => headers["Producer-Epoch"] === sent.headers["Producer-Epoch"]);
    return this.chance.pick(ofEpoch);
  }

  /** The producer begins again: what its last run has sent and was held up is refused. */
  private async anew(): Promise<void> {
    const before = this.next();
    await this.deliver(before);
    this.epoch++;
    this.seq = 0;
    await this.deliver(this.next());
    const answer = await this.once(before).catch(() => undefined);
    if (answer && answer.status !== FENCED && !isAgain(answer.status)) this.complain("a write of an old epoch", answer);
  }

  protected override isEarly(sent: Sent, { status, headers }: Answered): boolean {
    return status === 409 && Number(headers.get("producer-expected-seq")) < Number(sent.headers["Producer-Seq"]);
  }

  /** Ends the stream with a last write, which is sent twice. */
  async close(): Promise<void> {
    const last = this.next();
    const closing: Sent = { ...last, headers: { ...last.headers, "Stream-Closed": "true" } };
    this.writes[this.writes.length - 1] = closing;
    await Promise.all([this.deliver(closing), this.deliver(closing)]);
  }
}
