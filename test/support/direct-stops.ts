/**
 * Direct messages while processes of the service are stopped for a while (SIGSTOP): numbered messages of several senders to one
 * receiver, and what may become of them. A message arrives at most once and in the order of its sender; one that was acked has
 * arrived; one that found no one has not; one with an id that is repeated until it is acked arrives exactly once.
 */
import { call } from "./http.ts";
import { until } from "./wait.ts";
import type { AnyFrame } from "./wire/shapes.ts";
import type { Wire } from "./wire/wire.ts";

/** A process of the service that has connections. */
export interface Stoppable {
  readonly pid: number;
  signal(name: "SIGSTOP" | "SIGCONT"): void;
}

/** A connection that has got its welcome, and the process that it is connected to. */
export interface Placed {
  readonly wire: Wire;
  readonly at: Stoppable;
}

export interface Places {
  /** For REST. */
  readonly url: string;
  readonly credential: string;
  /** `at`: the index of the process, where connections can choose; otherwise ignored. */
  connect(peerId: string, at: number): Promise<Placed>;
}

/** For the application: the service closes the subscribers of such a channel when its history is deleted, and expects them back. */
export const RULES = { channelRules: [{ pattern: "kept-**", history: { messages: 10, seconds: 60 } }] };

interface Numbered {
  readonly sender: string;
  readonly n: number;
}

/** Sends numbered messages, and notes what became of each. */
abstract class Sender {
  /** "ack", or the code of the error. */
  readonly answers = new Map<number, string>();
  protected last = 0;
  protected isOver = false;
  private running: Promise<void> | undefined;
  private requests = 0;
  private readonly givesUpMs = performance.now() + GIVES_UP_MS;

  constructor(
    readonly name: string,
    private readonly wire: Wire,
    private readonly to: string,
    protected readonly everyMs: number,
  ) {}

  get sent(): number {
    return this.last;
  }

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.running;
  }

  protected abstract run(): Promise<void>;

  /** `undefined`: the connection has ended before the answer. */
  protected async request(n: number, fields: object = {}): Promise<string | undefined> {
    const requestId = `${this.name} ${++this.requests}`;
    const data: Numbered = { sender: this.name, n };
    this.wire.send({ type: "send", to: this.to, data, ...fields, requestId });
    // A process may be stopped for as long as the wire waits.
    for (;;) {
      try {
        return answerOf(await this.wire.answerTo(requestId));
      } catch (error) {
        if (this.wire.isOver) return undefined;
        if (performance.now() > this.givesUpMs) throw error;
      }
    }
  }
}

/** For a busy machine, after a stop of half a minute. */
const GIVES_UP_MS = 100_000;
/** Frames that may wait for a process that is stopped: with more, the connection would be closed for its rate. */
const WHILE_STOPPED_MAX = 150;
const EVERY_MIN_MS = 15;

/** Does not wait for answers, and sends nothing twice. */
export class HastySender extends Sender {
  protected async run(): Promise<void> {
    const answers: Promise<void>[] = [];
    for (; !this.isOver; await Bun.sleep(this.everyMs)) answers.push(this.sendOne(++this.last));
    await Promise.all(answers);
  }

  private async sendOne(n: number): Promise<void> {
    this.answers.set(n, (await this.request(n)) ?? "lost");
  }
}

const MAY_PASS: readonly string[] = ["backend_error", "rate_limited", "peer_not_found"];

/** Sends one after the other, each with an id, and repeats it until it is acked. */
class PatientSender extends Sender {
  repeated = 0;

  protected async run(): Promise<void> {
    for (; !this.isOver; await Bun.sleep(this.everyMs)) {
      const n = ++this.last;
      const id = `${this.name} ${n}`;
      let answer = await this.request(n, { id });
      for (; answer && MAY_PASS.includes(answer); this.repeated++) {
        await Bun.sleep(this.everyMs);
        answer = await this.request(n, { id });
      }
      this.answers.set(n, answer ?? "lost");
      if (!answer) return;
    }
  }
}

function answerOf(frame: AnyFrame): string {
  if (frame.type === "ack") return "ack";
  return frame.type === "error" ? frame.code : frame.type;
}

/** What a receiver has got, over all its connections. */
export function receivedBy(wires: readonly Wire[]): Numbered[] {
  return wires.flatMap(({ frames }) =>
    frames.flatMap((frame: AnyFrame) => (frame.type === "direct" ? [frame.data as Numbered] : [])),
  );
}

/** Sentences about what must not be; [] if everything is as it must be. */
export function faultsOf(senders: readonly Sender[], received: readonly Numbered[]): string[] {
  return senders.flatMap((sender) => {
    const got = received.filter(({ sender: name }) => name === sender.name).map(({ n }) => n);
    const all = new Set(got);
    const twice = got.filter((n, at) => got.indexOf(n) !== at);
    const late = got.filter((n, at) => at > 0 && n < (got[at - 1] ?? 0));
    const [lost, false404]: [number[], number[]] = [[], []];
    for (const [n, answer] of sender.answers) {
      if (answer === "ack" && !all.has(n)) lost.push(n);
      if ((answer === "peer_not_found" || answer === "rate_limited") && all.has(n)) false404.push(n);
    }
    const unsent = got.filter((n) => n > sender.sent);
    return [
      say(sender, "arrived more than once", twice),
      say(sender, "arrived after a later one", late),
      say(sender, "were acked and have not arrived", lost),
      say(sender, "were refused and have arrived", false404),
      say(sender, "were never sent", unsent),
    ].flat();
  });
}

const say = ({ name }: Sender, what: string, numbers: readonly number[]): string[] =>
  numbers.length === 0 ? [] : [`${name}: ${numbers.slice(0, 10).join(" ")} ${what}`];

export interface Stop {
  /** Whose process is stopped; `holder`: the one that has closed the receiver's connection and expects it back. */
  readonly of: "receiver" | "sender" | "holder";
  readonly ms: number;
}

export interface Outcome {
  readonly faults: readonly string[];
  readonly received: number;
  /** How many messages were answered how. */
  readonly answers: Readonly<Record<string, number>>;
}

const SENDERS_AT = [0, 1, 2] as const;
const BEFORE_MS = 150;
const AFTER_MS = 300;

/**
 * The receiver is connected; or the service has closed its connection, and it comes back to another process. Then a process is
 * stopped and continued while all senders go on.
 */
export async function roundOf(places: Places, peerId: string, isHeld: boolean, stop: Stop): Promise<Outcome> {
  const wires: Wire[] = [];
  const [first, senders] = await Promise.all([
    places.connect(peerId, 2),
    Promise.all(SENDERS_AT.map((at) => sendersAt(places, peerId, at, stop.ms))),
  ]);
  wires.push(first.wire);
  const all = senders.flatMap(({ hasty, patient }) => [hasty, patient]);
  for (const sender of all) sender.start();
  let [holder, receiver] = [first, first];
  if (isHeld) {
    // Where connections cannot choose, it may come back to the same process.
    for (; receiver.at.pid === holder.at.pid; wires.push(receiver.wire)) {
      holder = receiver;
      await closeByService(places, holder.wire, `kept-${peerId}`);
      await Bun.sleep(BEFORE_MS);
      receiver = await places.connect(peerId, 1);
    }
    // With its roster it gets what has waited.
    receiver.wire.send({ type: "subscribe", channel: "home" });
  }
  const { at } = { receiver, holder, sender: senders[0]?.placed ?? holder }[stop.of];
  at.signal("SIGSTOP");
  try {
    await Bun.sleep(stop.ms);
  } finally {
    at.signal("SIGCONT");
  }
  await Bun.sleep(AFTER_MS);
  await Promise.all(all.map((sender) => sender.stop()));
  const acked = (): number => all.reduce((sum, { answers }) => sum + countOf(answers, "ack"), 0);
  await until("what was acked arrives", () => new Set(receivedBy(wires).map(nameOf)).size >= acked()).catch(() => 0);
  const received = receivedBy(wires);
  const answers = Object.groupBy(
    all.flatMap((sender) => [...sender.answers.values()]),
    (answer) => answer,
  );
  for (const wire of [...wires, ...senders.map(({ placed }) => placed.wire)]) wire.drop();
  return {
    faults: faultsOf(all, received),
    received: received.length,
    answers: Object.fromEntries(Object.entries(answers).map(([answer, list = []]) => [answer, list.length])),
  };
}

/** The service expects it back. */
export async function closeByService({ url, credential }: Places, wire: Wire, channel: string): Promise<void> {
  await wire.request({ type: "subscribe", channel });
  const path = `${url}/v1/channels/${channel}/history`;
  await until(
    "the channel keeps history",
    async () => (await call(path, { method: "DELETE", bearer: credential })).status === 200,
  );
  await wire.closed();
}

const nameOf = ({ sender, n }: Numbered): string => `${sender} ${n}`;
const countOf = (answers: ReadonlyMap<number, string>, answer: string): number =>
  [...answers.values()].filter((one) => one === answer).length;

async function sendersAt(places: Places, to: string, at: number, stoppedMs: number) {
  const name = `${to}-sender-${at}`;
  const everyMs = Math.max(EVERY_MIN_MS, stoppedMs / WHILE_STOPPED_MAX);
  const placed = await places.connect(name, at);
  return {
    placed,
    hasty: new HastySender(`${name}-hasty`, placed.wire, to, everyMs),
    patient: new PatientSender(`${name}-patient`, placed.wire, to, everyMs),
  };
}
