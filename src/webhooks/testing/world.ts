/** For tests: a store with endpoints, whose requests a function answers, at a time that the test sets. */
import { scratch } from "../../../test/support/temp.ts";
import { nextTurn } from "../../../test/support/wait.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { PinnedAnswer, PinnedRequest } from "../../net/pinned.ts";
import type { Store } from "../../store/contract/store.ts";
import type {
  NewWebhookEvent,
  WebhookAttemptRow,
  WebhookFact,
  WebhookLease,
  WebhookRow,
  WebhookState,
} from "../../store/contract/webhooks.ts";
import { openStore } from "../../store/open.ts";
import { appRow } from "../../store/testing/rows.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { Dispatcher, type DispatcherParts } from "../delivery/dispatcher.ts";
import { FanOut } from "../delivery/fan-out.ts";
import { WebhookMetrics } from "../delivery/metrics.ts";
import type { Sent } from "../sending/sender.ts";
import type { Recipient } from "../signing/recipient.ts";

export const APP = anAppId("a");
export const OTHER_APP = anAppId("b");
export const KEY = Buffer.alloc(24, 7);

/** A request as its receiver sees it. */
export interface Seen {
  readonly webhook: string;
  readonly seq: number;
  readonly atMs: number;
  readonly request: PinnedRequest;
}
export type Answer = PinnedAnswer | "lost";
export type Receiver = (seen: Seen) => Answer | Promise<Answer>;

const OK: PinnedAnswer = { status: 200, response: "" };

export class World implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly seen: Seen[] = [];
  readonly rows = new Map<string, WebhookRow>();
  readonly disabled: (readonly [string, string])[] = [];
  readonly lines: string[] = [];
  readonly metrics = new WebhookMetrics(new Metrics());
  /** By endpoint; others answer with success. */
  readonly receivers = new Map<string, Receiver>();
  isHeld = true;
  timesLost = 0;

  private constructor(
    private readonly folder: Disposable,
    readonly store: Store,
    readonly lease: WebhookLease,
  ) {}

  static async open(...ids: readonly string[]): Promise<World> {
    const folder = scratch();
    const store = await openStore(folder.path);
    const lease = await store.webhooks.takeLease("test");
    if (!lease) throw new Error("no lease");
    const world = new World(folder, store, lease);
    await store.change(async (change) => {
      await change.putApp(appRow(APP));
      await change.putApp(appRow(OTHER_APP));
    });
    for (const id of ids) await world.add(id);
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    this.folder[Symbol.dispose]();
  }

  async add(id: string, fields: Partial<WebhookRow> = {}): Promise<void> {
    const row: WebhookRow = {
      id,
      app: APP,
      kind: "control",
      url: `https://example.org/${id}`,
      events: ["*"],
      channelPatterns: ["**"],
      description: null,
      headerNames: [],
      headersSealed: null,
      created: this.clock.wallMs(),
      disabled: null,
      disabledWhy: null,
      ...fields,
    };
    await this.store.change((change) => change.putWebhook(row));
    this.rows.set(id, row);
  }

  recipient = (id: string): Recipient | undefined => {
    const row = this.rows.get(id);
    return row && { row, secrets: [{ key: KEY, ends: null }], headers: {}, channels: { matches: () => true } };
  };

  get parts(): DispatcherParts {
    return {
      store: this.store.webhooks,
      recipient: this.recipient,
      sender: { send: this.send },
      disable: async (id, why) => {
        this.disabled.push([id, why]);
        const row = this.rows.get(id);
        if (row) this.rows.set(id, { ...row, disabled: this.clock.wallMs(), disabledWhy: why });
      },
      clock: this.clock,
      random: () => 0,
      metrics: this.metrics,
      log: {
        warn: (_: object, text = "") => void this.lines.push(text),
        error: (_: object, text = "") => void this.lines.push(text),
      } as DispatcherParts["log"],
    };
  }

  private readonly send = async (request: PinnedRequest): Promise<Sent | "lost"> => {
    const [, webhook = "", seq] = /^msg_(.+)_(\d+)$/.exec(request.headers["webhook-id"] ?? "") ?? [];
    const seen: Seen = { webhook, seq: Number(seq), atMs: this.clock.wallMs(), request };
    this.seen.push(seen);
    const answer = await (this.receivers.get(webhook)?.(seen) ?? OK);
    return answer === "lost" ? answer : { answer, tookMs: 1 };
  };

  dispatcher(): Dispatcher {
    return new Dispatcher(
      this.parts,
      this.lease,
      () => this.isHeld,
      () => void this.timesLost++,
    );
  }

  fanOut(): FanOut {
    return new FanOut({
      store: this.store.webhooks,
      rooms: this.store.rooms,
      recipients: () => [...this.rows.keys()].flatMap((id) => this.recipient(id) ?? []),
      ofRoomUrl: async (_, url) => this.recipient(url),
      app: (id) => ({ id, name: "shop" }),
      records: { room: (row) => row, recording: (row) => row },
      nowMs: this.clock.wallMs,
      metrics: this.metrics,
      log: this.parts.log,
    });
  }

  /** Writes events and gives them to the endpoints. */
  async happen(...facts: readonly WebhookFact[]): Promise<void> {
    const events = facts.map((fact): NewWebhookEvent => {
      const subject = "channel" in fact ? fact.channel : fact.type;
      return { app: APP, subject, happened: this.clock.wallMs(), fact, webhook: null };
    });
    await this.store.webhooks.addEvents(events);
    while ((await this.fanOut().run(this.lease)) === "more");
  }

  async state(id: string): Promise<WebhookState> {
    const [state] = await this.store.webhooks.states([id]);
    if (!state) throw new Error(`no state of ${id}`);
    return state;
  }

  attempts(id: string): Promise<readonly WebhookAttemptRow[]> {
    return this.store.webhooks.attempts(id, { limit: 10_000 });
  }

  /** Numbers of what an endpoint got, in order. */
  seqsOf = (id: string): number[] => this.seen.filter(({ webhook }) => webhook === id).map(({ seq }) => seq);
}

export const occupied = (channel: string): WebhookFact => ({ type: "channel.occupied", channel });
export const keyCreated = (id: string): WebhookFact => ({
  type: "key.created",
  key: { id, type: "secret", label: null, channelPatterns: ["**"], actions: [] },
});

/** Looks, and waits until nothing is under way that is answered at once. */
export async function settled(dispatcher: Dispatcher): Promise<void> {
  await dispatcher.look();
  while (!dispatcher.isIdle) await nextTurn();
}
