/** Messages of channels reach each endpoint once and in order, over other holders of the lease, gaps, and endpoints that are behind. */
import { expect, test } from "bun:test";
import { spaceOf } from "../../base/ids.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { messageBytes } from "../../history/contract/size.ts";
import type { SqliteHistory } from "../../history/sqlite/history.ts";
import { openMemoryHistory } from "../../history/testing/memory.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import type { NewWebhookEvent, WebhookCursorRow, WebhookLease, WebhookState } from "../../store/contract/webhooks.ts";
import { Counter } from "../../telemetry/metrics.ts";
import type { WebhookEntry } from "../endpoints/book.ts";
import { MessageStreams } from "./message-streams.ts";

const A = anAppId("a");
const KEEP = { messages: 1000, seconds: 86_400 };

const entry = (id: string, created: number, pattern = "log/*"): WebhookEntry => {
  const glob = parseGlob(pattern);
  return {
    row: { id, app: A, created, events: ["message.published"], disabled: null },
    channels: typeof glob === "string" ? null : new Scope([glob]),
  } as unknown as WebhookEntry;
};

/** A history, and what the holder of the lease has written. */
class World {
  readonly clock = new FakeClock();
  readonly history: SqliteHistory;
  entries: WebhookEntry[] = [];
  readonly cursors = new Map<string, WebhookCursorRow>();
  readonly events: NewWebhookEvent[] = [];
  readonly gaps = new Counter();
  backlog = 0;
  private changed: () => void = () => undefined;
  private lease: WebhookLease = { holder: "me", number: 0 };
  private streams: MessageStreams | undefined;
  private batches = 0;

  constructor() {
    const { wallMs, monotonicMs } = this.clock;
    this.history = openMemoryHistory({ wallMs, monotonicMs, retentionMs: wallMs });
    this.lead();
  }

  /** Another process has the lease from now on. */
  lead(): void {
    this.lease = { holder: "me", number: this.lease.number + 1 };
    const key = ({ webhook, channel }: WebhookCursorRow): string => `${webhook} ${channel}`;
    this.streams = new MessageStreams({
      store: {
        cursors: async (id) => [...this.cursors.values()].filter(({ webhook }) => webhook === id),
        states: async (ids) => ids.map((webhook) => ({ webhook, backlog: this.backlog }) as WebhookState),
        advance: async (lease, cursors, events) => {
          if (lease.number !== this.lease.number) return "lost";
          for (const cursor of cursors) this.cursors.set(key(cursor), cursor);
          this.events.push(...events);
          return "advanced";
        },
      },
      history: this.history,
      book: {
        apps: [A],
        of: () => this.entries,
        onChange: (listener) => {
          this.changed = () => listener(A);
        },
      },
      clock: this.clock,
      gaps: this.gaps,
    });
  }

  ask(...entries: WebhookEntry[]): void {
    this.entries = entries;
    this.changed();
  }

  async publish(channel: string, ...texts: string[]): Promise<void> {
    const messages = texts.map((text) => {
      const sized = {
        from: "ann",
        metadataJson: undefined,
        dataJson: JSON.stringify(text),
        connection: "c",
        id: undefined,
      };
      return { ...sized, spaceId: spaceOf(A), channel, keep: KEEP, idScope: "", bytes: messageBytes(sized) };
    });
    await this.history.append({ check: (++this.batches).toString(36), messages });
    this.clock.advance(10);
  }

  async turns(count = 1): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.clock.advance(300);
      expect(await this.streams?.turn(this.lease)).not.toBe("lost");
    }
  }

  /** What was given since the last call: channel, texts, and whether some were gone. */
  given(id = "w"): string[] {
    const own = this.events.filter(({ webhook }) => webhook === id);
    for (const one of own) this.events.splice(this.events.indexOf(one), 1);
    return own.map(({ fact }) => {
      if (fact.type !== "message.published") return fact.type;
      const texts = fact.messages.map(({ dataJson }) => JSON.parse(dataJson) as string);
      return `${fact.channel}:${fact.gap ? " gap" : ""} ${texts.join(" ")}`;
    });
  }
}

test("an endpoint gets what is published after it was made, in order and once, over another holder of the lease", async () => {
  const world = new World();
  await world.publish("log/a", "before");
  world.clock.advance(1000);
  world.ask(entry("w", world.clock.wallMs()), entry("v", world.clock.wallMs(), "log/b"));
  await world.publish("log/a", "1", "2");
  await world.publish("plain", "unasked");
  await world.turns();
  expect(world.given()).toEqual(["log/a: 1 2"]);
  await world.publish("log/a", "3");
  await world.publish("log/b", "4");
  world.lead();
  world.ask(...world.entries);
  await world.turns();
  expect(world.given().sort()).toEqual(["log/a: 3", "log/b: 4"]);
  expect(world.given("v")).toEqual(["log/b: 4"]);
  await world.turns(3);
  expect(world.given()).toEqual([]);
  world.clock.advance(3_600_000);
  await world.publish("log/a", "5");
  world.lead();
  world.ask(...world.entries);
  await world.turns(2);
  expect(world.given()).toEqual(["log/a: 5"]);
  expect(world.gaps.value).toBe(0);
});

test("at most 100 messages or 16 KB per event", async () => {
  const world = new World();
  world.ask(entry("w", world.clock.wallMs()));
  await world.publish("log/a", ...Array.from({ length: 250 }, (_, i) => `${i}`));
  await world.publish("log/b", ...Array.from({ length: 4 }, () => "x".repeat(6000)), "y".repeat(30_000), "z");
  await world.turns(8);
  const counts = (channel: string): number[] =>
    world.events.flatMap(({ fact }) =>
      fact.type === "message.published" && fact.channel === channel ? [fact.messages.length] : [],
    );
  expect(Math.max(...counts("log/a"))).toBeLessThanOrEqual(100);
  expect(counts("log/a").reduce((sum, one) => sum + one, 0)).toBe(250);
  expect(counts("log/b")).toEqual([2, 2, 1, 1]);
});

test("an endpoint with much that waits gets no more; what is deleted meanwhile is a gap, and counted", async () => {
  const world = new World();
  world.ask(entry("w", world.clock.wallMs()));
  await world.publish("log/a", "1");
  await world.turns();
  world.backlog = 1000;
  await world.publish("log/a", "2");
  await world.turns(3);
  expect(world.given()).toEqual(["log/a: 1"]);
  world.backlog = 0;
  await world.turns();
  expect(world.given()).toEqual(["log/a: 2"]);
  await world.history.remove(spaceOf(A), "log/a");
  await world.turns(2);
  expect(world.given()).toEqual([]);
  await world.publish("log/a", "3");
  await world.turns();
  expect(world.given()).toEqual(["log/a: gap 3"]);
  expect(world.gaps.value).toBe(1);
});

test("what another holder could not give is given by the next one, also for channels that no one publishes to any more", async () => {
  const world = new World();
  world.ask(entry("w", world.clock.wallMs()));
  await world.turns();
  world.backlog = 5000;
  await world.publish("log/a", "1");
  await world.publish("log/b", "2");
  await world.turns(500);
  world.lead();
  world.ask(...world.entries);
  world.backlog = 0;
  await world.turns(2);
  expect(world.given().sort()).toEqual(["log/a: 1", "log/b: 2"]);
});

test("a clock that is set back hides no message, also of a channel that is new, and of another holder of the lease", async () => {
  const world = new World();
  await world.publish("log/old", "before");
  world.clock.advance(60_000);
  world.ask(entry("w", world.clock.wallMs()));
  await world.turns(3);
  await world.publish("log/a", "1");
  await world.turns(2);
  expect(world.given()).toEqual(["log/a: 1"]);
  world.clock.jump(-3_600_000);
  await world.turns(2);
  await world.publish("log/a", "2");
  await world.publish("log/b", "3");
  await world.turns(3);
  expect(world.given()).toEqual(["log/a: 2", "log/b: 3"]);
  world.clock.advance(40_000);
  await world.turns(2);
  world.clock.jump(-3_600_000);
  world.lead();
  await world.turns(1);
  await world.publish("log/a", "4");
  await world.publish("log/c", "5");
  await world.turns(3);
  expect(world.given()).toEqual(["log/a: 4", "log/c: 5"]);
  // And forward.
  world.clock.jump(10_800_000);
  await world.publish("log/d", "6");
  await world.turns(3);
  await world.publish("log/e", "7");
  await world.turns(3);
  expect(world.given()).toEqual(["log/d: 6", "log/e: 7"]);
});
