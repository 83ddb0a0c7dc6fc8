/**
 * Gives endpoints the messages of channels with history. Nothing of it is on the way of a publish: the ends of streams that have changed are
 * read from the store, and what is behind the position of each endpoint, in the order of each channel.
 *
 *     the stream has                              the endpoint is given
 *     no position of it                           what is newer than the endpoint, or than its last look at all streams
 *     the same epoch, and the next offset         what follows
 *     another epoch, or only later offsets        what there is, with `gap`: what was between is gone
 */
import type { Clock } from "../../base/clock.ts";
import { appOfSpace, isRoomSpace, isStreamSpace, spaceOf } from "../../base/ids.ts";
import type { HistoryStore, Page } from "../../history/contract/history.ts";
import { asksFor } from "../../protocol/webhook-events.ts";
import type { Lost, NewWebhookEvent, WebhookLease, WebhookStore } from "../../store/contract/webhooks.ts";
import type { Counter } from "../../telemetry/metrics.ts";
import type { WebhookBook, WebhookEntry } from "../endpoints/book.ts";
import { EndpointCursors, type Position } from "./endpoint-cursors.ts";
import {
  CURSORS_MAX,
  HEADS_OVERLAP_MS,
  HEADS_SKEW_MS,
  KNOWN_NOTED_EVERY_MS,
  MESSAGES_PER_EVENT_MAX,
  MESSAGES_PER_EVENT_MAX_BYTES,
  PAGES_PER_TURN,
  STREAMS_EVERY_MS,
  WAITING_MAX,
} from "./limits.ts";

interface MessageStreamsParts {
  readonly store: Pick<WebhookStore, "cursors" | "advance" | "states">;
  readonly history: Pick<HistoryStore, "heads" | "read">;
  readonly book: Pick<WebhookBook, "apps" | "of" | "onChange">;
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs">;
  /** Messages that were gone before they could be given. */
  readonly gaps: Counter;
}

/** What one page of a channel becomes. */
interface Given {
  readonly position: Position;
  /** Absent: the stream has lost its end, and there is nothing new. */
  readonly event?: NewWebhookEvent;
  readonly more: boolean;
}

const LIMITS = { limit: MESSAGES_PER_EVENT_MAX, maxBytes: MESSAGES_PER_EVENT_MAX_BYTES };

export class MessageStreams {
  /** Endpoints that ask for messages, by their ids. Bound: ENDPOINTS_PER_APP_MAX per application. */
  private readonly asking = new Map<string, WebhookEntry>();
  /** Bound: as `asking`. */
  private readonly endpoints = new Map<string, EndpointCursors>();
  private lease = 0;
  private nextMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: MessageStreamsParts) {
    parts.book.onChange(() => this.changed());
    this.changed();
  }

  /** Some endpoint asks for messages: `turn` is worth calling. */
  get isAsked(): boolean {
    return this.asking.size > 0;
  }

  private changed(): void {
    const { book } = this.parts;
    this.asking.clear();
    for (const app of book.apps)
      for (const entry of book.of(app))
        if (entry.row.disabled === null && entry.channels && asksFor(entry.row.events, "message.published"))
          this.asking.set(entry.row.id, entry);
    for (const id of this.endpoints.keys()) if (!this.asking.has(id)) this.endpoints.delete(id);
  }

  /** May be called more often than it reads. Returns how many events were written. */
  async turn(lease: WebhookLease): Promise<number | Lost> {
    const { clock } = this.parts;
    const nowMs = clock.monotonicMs();
    if (lease.number !== this.lease) this.endpoints.clear();
    this.lease = lease.number;
    if (!this.isAsked || nowMs < this.nextMs) return 0;
    this.nextMs = nowMs + STREAMS_EVERY_MS;
    await this.load();
    await this.readHeads();
    return this.give(lease);
  }

  private async load(): Promise<void> {
    const { store, clock } = this.parts;
    for (const [id, entry] of [...this.asking]) {
      const known = this.endpoints.get(id);
      if (known) {
        known.entry = entry;
        continue;
      }
      const rows = await store.cursors(id);
      const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
      this.endpoints.set(id, new EndpointCursors(entry, rows, now, HEADS_SKEW_MS));
    }
  }

  private async readHeads(): Promise<void> {
    const { history, clock } = this.parts;
    const all = [...this.endpoints.values()];
    const [wallMs, startedMs] = [clock.wallMs(), clock.monotonicMs()];
    const agoMs = startedMs - Math.min(...all.map(({ unreadMs }) => unreadMs)) + HEADS_OVERLAP_MS;
    const { heads, openMs } = await history.heads(agoMs);
    const ofApps = Map.groupBy(
      heads.filter(({ app }) => !isRoomSpace(app) && !isStreamSpace(app)),
      ({ app }) => appOfSpace(app),
    );
    for (const endpoint of all) {
      const { row, channels } = endpoint.entry;
      const own = (ofApps.get(row.app) ?? []).filter(({ channel }) => channels?.matches(channel));
      if (endpoint.isAheadOf(wallMs)) endpoint.setBack(wallMs, own);
      for (const { channel, epoch, offset } of own) endpoint.head(channel, { epoch, offset });
    }
    for (const endpoint of all) endpoint.read({ wallMs: wallMs - openMs, monotonicMs: startedMs - openMs });
  }

  private async give(lease: WebhookLease): Promise<number | Lost> {
    let events = 0;
    let pages = PAGES_PER_TURN;
    const full = await this.full();
    for (const endpoint of [...this.endpoints.values()]) {
      // Others get something too, however much this one is behind.
      const channels = full.has(endpoint.entry.row.id) ? [] : [...endpoint.behind].slice(0, Math.ceil(pages / 2));
      pages -= channels.length;
      const given = await this.giveTo(lease, endpoint, channels);
      if (given === "lost") return "lost";
      events += given;
    }
    return events;
  }

  /** Endpoints with much that waits: what they are not given yet stays in the streams. */
  private async full(): Promise<ReadonlySet<string>> {
    const behind = [...this.endpoints].flatMap(([id, endpoint]) => (endpoint.behind.size > 0 ? [id] : []));
    const states = behind.length === 0 ? [] : await this.parts.store.states(behind);
    return new Set(states.flatMap(({ webhook, backlog }) => (backlog >= WAITING_MAX ? [webhook] : [])));
  }

  private async giveTo(
    lease: WebhookLease,
    endpoint: EndpointCursors,
    channels: readonly (readonly [channel: string, sinceMs: number])[],
  ): Promise<number | Lost> {
    const { store, clock, gaps } = this.parts;
    const reached: (Given & { readonly channel: string })[] = [];
    const done: string[] = [];
    for (const [channel, sinceMs] of channels) {
      const given = await this.next(endpoint, channel, sinceMs);
      if (!given?.more) done.push(channel);
      if (given) reached.push({ channel, ...given });
    }
    const nowMs = clock.wallMs();
    const cursors = reached.map(({ channel, position }) => endpoint.row(channel, position, nowMs));
    const events = reached.flatMap(({ event }) => event ?? []);
    if (cursors.length > 0 && (await store.advance(lease, cursors, events, CURSORS_MAX)) === "lost") return "lost";
    for (const { channel, position } of reached) endpoint.advanced(channel, position);
    for (const channel of done) endpoint.behind.delete(channel);
    gaps.inc(events.filter(({ fact }) => fact.type === "message.published" && fact.gap).length);
    if (endpoint.isToBeNoted(KNOWN_NOTED_EVERY_MS))
      if ((await store.advance(lease, [endpoint.note()], [], CURSORS_MAX)) === "lost") return "lost";
    return events.length;
  }

  /** The next messages of a channel; undefined: there are none. */
  private async next(endpoint: EndpointCursors, channel: string, sinceMs: number): Promise<Given | undefined> {
    const { history } = this.parts;
    const spaceId = spaceOf(endpoint.entry.row.app);
    const known = endpoint.position(channel);
    if (!known) {
      const page = await history.read(spaceId, channel, { after: 0, sinceMs, ...LIMITS });
      return page && givenOf(endpoint, channel, page, false);
    }
    const page = await history.read(spaceId, channel, { after: known.offset, ...LIMITS });
    if (!page) return undefined;
    const { epoch, top, first } = page.state;
    if (epoch !== known.epoch) {
      const begun = await history.read(spaceId, channel, { after: 0, ...LIMITS });
      return begun && givenOf(endpoint, channel, begun, true);
    }
    // The store has lost its end: what comes next has offsets that were given already.
    if (known.offset > top) return { position: { epoch, offset: top }, more: false };
    return givenOf(endpoint, channel, page, known.offset + 1 < first);
  }
}

function givenOf({ entry }: EndpointCursors, channel: string, page: Page, gap: boolean): Given | undefined {
  const last = page.messages.at(-1);
  if (!last) return undefined;
  const { epoch } = page.state;
  const messages = page.messages.map(({ offset, time, from, metadataJson = null, dataJson }) => ({
    offset,
    time,
    from,
    metadataJson,
    dataJson,
  }));
  const { id, app } = entry.row;
  return {
    position: { epoch, offset: last.offset },
    event: {
      app,
      subject: `channel ${channel}`,
      happened: last.time,
      fact: { type: "message.published", channel, epoch, gap, messages },
      webhook: id,
    },
    more: page.more,
  };
}
