/**
 * Publishes over REST, to a channel with history and to one without, several at a time. Numbers are given when a publish is sent, so that a subscriber must
 * get each acknowledged number from the one that followed its own ack.
 */
import { expect } from "bun:test";
import { fresh, subscribe, tokenQuery, type World } from "../../conformance/raw/support/world.ts";
import { until } from "../../support/wait.ts";
import { connect } from "../../support/wire/connect.ts";
import type { Wire } from "../../support/wire/wire.ts";

const AT_A_TIME = 4;
const PAUSE_MS = 5;
/** More than the others: a service that stays away must not fill the run with failed attempts. */
const PAUSE_AFTER_FAILURE_MS = 100;
const PAGE = 100;

interface Watcher {
  readonly wire: Wire;
  /** It gets all that is acknowledged from this number on. */
  readonly from: number;
}

interface Page {
  readonly messages: readonly { readonly data: number; readonly pos: string }[];
  readonly more: boolean;
}

export class RestLoad {
  readonly acknowledged: number[] = [];
  failed = 0;
  private readonly plain = fresh("rest");
  private readonly kept = fresh("kept-rest");
  private readonly watchers: Watcher[] = [];
  private next = 0;
  private isOver = false;
  private readonly publishers: Promise<void>[];

  constructor(private readonly world: () => World) {
    this.publishers = Array.from({ length: AT_A_TIME }, () => this.publish());
  }

  /** Adds subscribers of the channel without history. */
  async watch(count: number): Promise<void> {
    const world = this.world();
    for (let i = 0; i < count; i++) {
      const wire = await connect(world.url, { query: tokenQuery(world.token({ permissions: ["subscribe"] })) });
      await wire.frame("welcome");
      await subscribe(wire, this.plain);
      this.watchers.push({ wire, from: this.next });
    }
  }

  /** Resolves when some more publishes are acknowledged. */
  async goesOn(more = 20): Promise<void> {
    const count = this.acknowledged.length;
    await until("publishes are not acknowledged", () => this.acknowledged.length >= count + more);
  }

  async hush(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.publishers);
  }

  /** Open subscribers have everything, once; the history has it too. Returns how many subscribers were left. */
  async judge(): Promise<number> {
    const open = this.watchers.filter(({ wire }) => !wire.isOver);
    const plain = this.acknowledged.filter((number) => !isKept(number));
    for (const { wire, from } of open)
      await until("a subscriber lacks acknowledged messages", () => {
        const seen = new Set(numbersOf(wire));
        return plain.every((number) => number < from || seen.has(number));
      });
    for (const { wire } of this.watchers) {
      const numbers = numbersOf(wire);
      expect(numbers.length).toBe(new Set(numbers).size);
      wire.drop();
    }
    const stored = await this.stored();
    expect(stored.length).toBe(new Set(stored).size);
    const inHistory = new Set(stored);
    expect(this.acknowledged.filter((number) => isKept(number) && !inHistory.has(number))).toEqual([]);
    return open.length;
  }

  private async publish(): Promise<void> {
    while (!this.isOver) {
      const number = this.next++;
      const channel = isKept(number) ? this.kept : this.plain;
      const answer = await this.world()
        .restPublish(channel, { data: number, id: `rest-${number}` })
        .catch(() => undefined);
      if (answer?.status === 200) this.acknowledged.push(number);
      else this.failed++;
      await Bun.sleep(answer?.status === 200 ? PAUSE_MS : PAUSE_AFTER_FAILURE_MS);
    }
  }

  private async stored(): Promise<number[]> {
    const path = `/v1/channels/${this.kept}/history?limit=${PAGE}`;
    const numbers: number[] = [];
    for (let before = ""; ; ) {
      const { status, body } = await this.world().rest<Page>("GET", path + before);
      expect(status).toBe(200);
      numbers.push(...body.messages.map(({ data }) => data));
      if (!body.more) return numbers;
      before = `&before=${encodeURIComponent(body.messages.at(-1)?.pos ?? "")}`;
    }
  }
}

const isKept = (number: number): boolean => number % 2 === 1;

const numbersOf = (wire: Wire): number[] =>
  wire.frames.flatMap((frame) => (frame.type === "message" ? [Number(frame.data)] : []));
