/**
 * Readers over HTTP of a channel with history that is trimmed and deleted under them: a reader that falls behind what is kept gets 410, and begins again; none
 * gets a part, a message twice, or one of a history that was deleted.
 */
import { expect } from "bun:test";
import type { Admin } from "../admin.ts";
import { Chance } from "../random.ts";
import { until } from "../wait.ts";
import { isAgain, numberOf, StreamsHttp } from "./http.ts";

const CHANNEL = "kept/1";
const KEPT = 20;
const RULES = [{ pattern: "kept/**", history: { messages: KEPT, seconds: 600 } }];
const JSON_TYPE = { "Content-Type": "application/json" };
const VALUES_MAX = 4;
const WRITE_EVERY_MAX_MS = 20;
/** Some readers look so rarely that they fall behind. */
const LOOK_EVERY_MAX_MS = 600;
const SSE_LIVES_MAX_MS = 400;

interface Value {
  /** How many histories were deleted before the one that it is of. */
  readonly round: number;
  readonly nr: number;
}

/** Writes numbered values, one request after the other. */
class Writer {
  round = 0;
  nr = 0;
  private isHeld = false;
  private isIdle = true;
  private isOver = false;
  private readonly running: Promise<void>;

  constructor(
    private readonly http: StreamsHttp,
    private readonly chance: Chance,
  ) {
    this.running = this.run();
  }

  /** Nothing is under way while `work` deletes what there is. */
  async anew(work: () => Promise<void>): Promise<void> {
    this.isHeld = true;
    await until("no write is under way", () => this.isIdle);
    await work();
    this.round++;
    this.nr = 0;
    this.isHeld = false;
  }

  stop(): Promise<void> {
    this.isOver = true;
    return this.running;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      await Bun.sleep(this.chance.below(WRITE_EVERY_MAX_MS));
      if (this.isHeld) continue;
      this.isIdle = false;
      const values = Array.from({ length: 1 + this.chance.below(VALUES_MAX) }, () => {
        return { round: this.round, nr: ++this.nr };
      });
      const body = Buffer.from(JSON.stringify(values));
      const { status } = await this.http.ask(CHANNEL, { method: "POST", headers: JSON_TYPE, body });
      expect(status).toBe(204);
      this.isIdle = true;
    }
  }
}

type Kind = "catch-up" | "long-poll" | "sse";

class Reader {
  at = "-1";
  last: Value | undefined;
  /** How often its place was gone, and how often it began with a history that was trimmed. */
  gone = 0;
  trimmed = 0;
  readonly problems: string[] = [];
  private readonly over = new AbortController();
  private readonly running: Promise<void>;

  constructor(
    private readonly http: StreamsHttp,
    readonly kind: Kind,
    private readonly chance: Chance,
  ) {
    this.running = this.run();
  }

  stop(): Promise<void> {
    this.over.abort();
    return this.running;
  }

  private async run(): Promise<void> {
    while (!this.over.signal.aborted && this.problems.length === 0) {
      await this.read().catch((error: unknown) => {
        // It has cut its own request.
        if (!(error instanceof DOMException)) this.problems.push(String(error));
      });
      if (this.kind !== "long-poll" || this.chance.once(3)) await Bun.sleep(this.chance.below(LOOK_EVERY_MAX_MS));
    }
  }

  private async read(): Promise<void> {
    if (this.kind === "sse") return this.events();
    const query = { offset: this.at, ...(this.kind === "long-poll" && { live: "long-poll" }) };
    const answer = await this.http.ask(CHANNEL, { query, signal: this.over.signal });
    if (!this.isPage(answer)) return;
    const values = answer.status === 204 ? [] : JSON.parse(Buffer.from(answer.bytes).toString());
    this.take(values, answer.next, answer.headers);
  }

  private async events(): Promise<void> {
    const lives = AbortSignal.timeout(1 + this.chance.below(SSE_LIVES_MAX_MS));
    const signal = AbortSignal.any([lives, this.over.signal]);
    const response = await this.http.open(CHANNEL, { query: { offset: this.at, live: "sse" }, signal });
    if (!this.isPage(response)) return;
    let text = "";
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const id = /^id: (.+)$/m.exec(event)?.[1] ?? "";
        const data = /^event: data\ndata:(.+)$/m.exec(event)?.[1];
        if (data !== undefined) this.take(JSON.parse(data), id, response.headers);
        else if (id !== "" && this.at === "-1") this.at = id;
      }
    }
  }

  private isPage({ status }: Pick<Response, "status">): boolean {
    if (status === 200 || status === 204) return true;
    if (status === 410) {
      this.gone++;
      if (this.at === "-1") this.problems.push("the start is gone");
      this.at = "-1";
    } else if (!isAgain(status)) this.problems.push(`it was answered ${status} at ${this.at}`);
    return false;
  }

  /** Offsets count from 1 in each history, as the values do. */
  private take(values: readonly Value[], to: string, headers: Headers): void {
    const end = numberOf(to);
    const from = end - values.length;
    if (this.at === "-1") {
      const isTrimmed = headers.get("parley-trimmed") === "true";
      if (values.length > 0 && isTrimmed !== from > 0) this.problems.push(`it begins behind ${from}: ${isTrimmed}`);
      if (isTrimmed) this.trimmed++;
    } else if (numberOf(this.at) !== from) this.problems.push(`${values.length} values from ${this.at} to ${to}`);
    for (const [at, { round, nr }] of values.entries()) {
      if (nr !== from + at + 1) this.problems.push(`${nr} at ${from + at + 1} of round ${round}`);
      if (round < (this.last?.round ?? 0)) this.problems.push(`round ${round} after ${this.last?.round}`);
      this.last = { round, nr };
    }
    this.at = to;
  }
}

export interface TrimmedLoad {
  readonly seed: number;
  /** How many there are of each kind. */
  readonly readers: number;
  readonly deletions: number;
}

export async function trimmedUnderReaders(
  admin: Admin,
  urls: readonly string[],
  { seed, readers: count, deletions }: TrimmedLoad,
): Promise<void> {
  const { _id } = await admin.createApp();
  await admin.must("PATCH", `/apps/${_id}`, { channelRules: RULES });
  const key = await admin.createKey(_id);
  const http = new StreamsHttp(() => urls, key.credential);
  for (const url of urls)
    await until("it is known", async () => (await http.ask(CHANNEL, { url, method: "HEAD" })).status === 200);
  let nr = seed * 1000;
  const writer = new Writer(http, new Chance(nr++));
  const readers = (["catch-up", "long-poll", "sse"] as const).flatMap((kind) =>
    Array.from({ length: count }, () => new Reader(http, kind, new Chance(nr++))),
  );
  const problems = (): string[] => readers.flatMap(({ kind, problems: all }) => all.map((one) => `${kind}: ${one}`));
  const reached = (nrOf: number) => (): boolean =>
    problems().length > 0 ||
    readers.every(({ last }) => last?.round === writer.round && (writer.nr < nrOf || last.nr >= nrOf));
  try {
    for (let round = 0; round <= deletions; round++) {
      // Every reader gets what is new in this history, and more comes than is kept.
      await until("all read it", () => writer.nr > 3 * KEPT && reached(KEPT)());
      if (round === deletions) break;
      const { next: before } = await http.ask(CHANNEL, { method: "HEAD" });
      await writer.anew(async () => {
        expect((await http.ask(CHANNEL, { method: "DELETE" })).status).toBe(204);
        // No node gives anything for a place of before, and none of what was there.
        for (const url of urls)
          for (const live of [{}, { live: "sse" }, { live: "long-poll" }])
            expect((await http.ask(CHANNEL, { url, query: { offset: before, ...live } })).status).toBe(410);
      });
    }
    await writer.stop();
    await until("all are at the end", reached(writer.nr));
  } finally {
    await writer.stop();
    await Promise.all(readers.map((reader) => reader.stop()));
  }
  const sum = (of: "gone" | "trimmed"): number => readers.reduce((total, reader) => total + reader[of], 0);
  console.log(
    `${readers.length} readers, ${deletions} deletions: ${sum("gone")} times gone, ${sum("trimmed")} trimmed`,
  );
  expect(problems()).toEqual([]);
  // It is not a test if no one falls behind.
  expect(sum("gone")).toBeGreaterThan(deletions * count);
  expect(sum("trimmed")).toBeGreaterThan(0);
}
